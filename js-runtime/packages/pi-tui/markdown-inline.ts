// What is inside of a line of Markdown: emphasis, code, links, entities, breaks.
//
// The text becomes nodes; emphasis is then found between runs of delimiters, as CommonMark describes
// it, in linear time. The style of the surroundings goes to every piece of plain text, not around the
// whole: a bold word inside of a grey line would otherwise end the grey.

import type { Style } from "./component.ts";
import type { DefaultTextStyle, MarkdownTheme } from "./markdown.ts";
import { matchEmphasis, type Run, runAt } from "./markdown-emphasis.ts";
import { autolinkAt, bareLinkAt, decodeEntity, destinationAt } from "./markdown-links.ts";
import { visibleWidth } from "./width.ts";

/** Link definitions: addresses by label, and the lines that are nothing else. */
export interface Definitions {
  links: Map<string, string>;
  lines: Set<string>;
}

const NO_DEFINITIONS: Definitions = { links: new Map(), lines: new Set() };
const DEFINITION =
  /^ {0,3}\[((?:[^\\\]]|\\.)+)\]: *<?([^\s<>]+)>?(?: +(?:"[^"]*"|'[^']*'|\([^)]*\)))? *$/;

/** The definitions of a document. */
export function definitionsOf(written: string[]): Definitions {
  let found = NO_DEFINITIONS;
  for (const line of written) {
    if (!line.includes("]:")) continue;
    const [, label, address] = DEFINITION.exec(line) ?? [];
    if (label === undefined || address === undefined) continue;
    if (found === NO_DEFINITIONS) found = { links: new Map(), lines: new Set() };
    const name = labelOf(label);
    if (!found.links.has(name)) found.links.set(name, address);
    found.lines.add(line);
  }
  return found;
}

function labelOf(text: string): string {
  return text.trim().replace(/\s+/g, " ").toLowerCase();
}

/** How a document is styled. */
export interface Ink {
  theme: MarkdownTheme;
  /** For text that has no style of its own. */
  base: Style;
  /** No style changes how wide a text is. */
  keepsWidths: boolean;
  /** Links can be followed, so that addresses need not be read. */
  hyperlinks: boolean;
}

/** The styles of a theme, and what is known of them. */
export function inkOf(theme: MarkdownTheme, style: DefaultTextStyle, hyperlinks: boolean): Ink {
  const { bold, italic, strikethrough, underline } = theme;
  const styles = [
    style.color,
    style.bold && bold,
    style.italic && italic,
    style.strikethrough && strikethrough,
    style.underline && underline,
  ].filter((one) => typeof one === "function");
  const base: Style =
    styles.length === 0 ? same : (text) => styles.reduce((styled, add) => add(styled), text);
  const all = [base, ...Object.values(theme)].filter(
    (one, index) => typeof one === "function" && (index === 0 || one.length < 2),
  );
  const isNeutral = (one: any) => {
    const styled = one("x");
    return typeof styled !== "string" || visibleWidth(styled) === 1;
  };
  return { theme, base, keepsWidths: all.every(isNeutral), hyperlinks };
}

function same(text: string): string {
  return text;
}

/** Whatever could be more than plain text. Underscores inside of words never are. */
const SPECIAL = /[\\`*~[<&]|(?<![A-Za-z0-9_])_|_(?![A-Za-z0-9_])|https?:|www\./;

/** One styled text, with `\n` where the author's line ends. */
export function inline(
  text: string,
  ink: Ink,
  base: Style,
  definitions: Definitions = NO_DEFINITIONS,
): string {
  if (!SPECIAL.test(text)) return base === same ? text : styleLines(text, base);
  return new Inline(text, ink, base, definitions).styled();
}

function styleLines(text: string, style: Style): string {
  if (!text.includes("\n")) return text === "" ? "" : style(text);
  return text
    .split("\n")
    .map((line) => (line === "" ? "" : style(line)))
    .join("\n");
}

/** A piece of the text. */
interface Node {
  text: string;
  /** It has its style and keeps it, as code does. */
  isStyled: boolean;
  /** Emphasis may begin or end here. */
  run: Run | undefined;
  /** What begins behind it. */
  opens: Mark[] | undefined;
  /** How many marks end before it. */
  closes: number;
}

/** A style from one node to another. */
interface Mark {
  style: Style;
  /** Said behind it. */
  after: string;
  /** Before and behind it, without being seen. */
  link: string | undefined;
  isLink: boolean;
}

interface Bracket {
  node: number;
  at: number;
  isImage: boolean;
}

class Inline {
  readonly #text: string;
  readonly #ink: Ink;
  readonly #base: Style;
  readonly #definitions: Definitions;
  readonly #nodes: Node[] = [];
  #brackets: Bracket[] = [];
  /** Where the text begins that is in no node yet. */
  #from = 0;
  /** Lengths of runs of backticks that do not come again. */
  #unclosed = new Set<number>();

  constructor(text: string, ink: Ink, base: Style, definitions: Definitions) {
    this.#text = text;
    this.#ink = ink;
    this.#base = base;
    this.#definitions = definitions;
  }

  styled(): string {
    this.#scan();
    matchEmphasis(this.#nodes, 0, (opener, closer, kind) => this.#emphasise(opener, closer, kind));
    return this.#write();
  }

  #scan(): void {
    const text = this.#text;
    for (let at = 0; at < text.length; ) {
      const next = this.#special(at, text.charCodeAt(at));
      at = next > at ? next : at + 1;
    }
    this.#plain(text.length);
  }

  /** Handles what begins at `at`, and answers where it ends; `at` itself for plain text. */
  #special(at: number, code: number): number {
    switch (code) {
      case 0x5c:
        return this.#escape(at);
      case 0x60:
        return this.#code(at);
      case 0x2a: // *
      case 0x5f: // _
      case 0x7e: {
        const run = runAt(this.#text, at);
        this.#plain(at);
        this.#add(this.#text.slice(at, at + run.count), run);
        return this.#skip(at + run.count);
      }
      case 0x21: // !
        return this.#text.charCodeAt(at + 1) === 0x5b ? this.#bracket(at, true) : at;
      case 0x5b:
        return this.#bracket(at, false);
      case 0x5d:
        return this.#closeBracket(at);
      case 0x3c:
        return this.#autolink(at);
      case 0x26:
        return this.#entity(at);
      case 0x68: // h
      case 0x77: // w
        return this.#bareLink(at);
      case 0x20:
        return this.#spaces(at);
      default:
        return at;
    }
  }

  #add(text: string, run?: Run, isStyled = false): number {
    this.#nodes.push({ text, isStyled, run, opens: undefined, closes: 0 });
    return this.#nodes.length - 1;
  }

  /** Takes the plain text up to `end`. */
  #plain(end: number): void {
    if (end > this.#from) this.#add(this.#text.slice(this.#from, end));
    this.#from = end;
  }

  #skip(to: number): number {
    this.#from = to;
    return to;
  }

  #escape(at: number): number {
    const next = this.#text[at + 1] ?? "";
    if (next === "\n") {
      this.#plain(at);
      return this.#skip(at + 1);
    }
    if (!/[!-/:-@[-`{-~]/.test(next)) return at;
    this.#plain(at);
    this.#from = at + 1;
    return at + 2;
  }

  /** Spaces at the end of a line are not seen. */
  #spaces(at: number): number {
    let end = at + 1;
    while (this.#text.charCodeAt(end) === 0x20) end++;
    if (this.#text.charCodeAt(end) === 0x0a) {
      this.#plain(at);
      this.#from = end;
    }
    return end;
  }

  #code(at: number): number {
    const text = this.#text;
    let begin = at;
    while (text.charCodeAt(begin) === 0x60) begin++;
    const count = begin - at;
    if (!this.#unclosed.has(count)) {
      for (let end = text.indexOf("`", begin); end >= 0; end = text.indexOf("`", end)) {
        const from = end;
        while (text.charCodeAt(end) === 0x60) end++;
        if (end - from !== count) continue;
        this.#plain(at);
        this.#add(this.#ink.theme.code(codeText(text.slice(begin, from))), undefined, true);
        return this.#skip(end);
      }
      this.#unclosed.add(count);
    }
    return begin;
  }

  #bracket(at: number, isImage: boolean): number {
    this.#plain(at);
    const end = at + (isImage ? 2 : 1);
    this.#brackets.push({ node: this.#add(this.#text.slice(at, end)), at: end, isImage });
    return this.#skip(end);
  }

  #closeBracket(at: number): number {
    const bracket = this.#brackets.pop();
    if (!bracket) return at;
    const label = this.#text.slice(bracket.at, at);
    const target = this.#target(label, at + 1);
    if (!target) return at;
    this.#plain(at);
    matchEmphasis(this.#nodes, bracket.node + 1, (opener, closer, kind) =>
      this.#emphasise(opener, closer, kind),
    );
    if (bracket.isImage) this.#image(bracket, label, target.address);
    else {
      this.#link(bracket.node, label, target.address);
      // There are no links in links.
      this.#brackets = this.#brackets.filter((outer) => outer.isImage);
    }
    return this.#skip(target.end);
  }

  /** Where a link leads whose text ends before `at`. */
  #target(label: string, at: number): { address: string; end: number } | undefined {
    const { links } = this.#definitions;
    const next = this.#text[at];
    const destination = next === "(" ? destinationAt(this.#text, at) : undefined;
    if (destination || links.size === 0) return destination;
    if (next === "[") {
      const close = this.#text.indexOf("]", at);
      const name = close < 0 ? undefined : this.#text.slice(at + 1, close) || label;
      const address = name === undefined ? undefined : links.get(labelOf(name));
      if (address !== undefined) return { address, end: close + 1 };
    }
    const address = links.get(labelOf(label));
    return address === undefined ? undefined : { address, end: at };
  }

  #image(bracket: Bracket, label: string, address: string): void {
    this.#nodes.length = bracket.node;
    this.#add(this.#ink.theme.link(label || address), undefined, true);
  }

  #link(node: number, text: string, address: string): void {
    const { theme, hyperlinks } = this.#ink;
    const opener = this.#nodes[node] as Node;
    opener.text = "";
    const isSaid = text === address || `mailto:${text}` === address;
    const link = hyperlinks ? (theme.resolveLink?.(address) ?? address) : undefined;
    const after = isSaid || hyperlinks ? "" : ` ${theme.linkUrl(`(${address})`)}`;
    const style: Style = (part) => theme.link(theme.underline(part));
    opener.opens = [{ style, after, link, isLink: true }, ...(opener.opens ?? [])];
    this.#nodes[this.#add("")]!.closes = 1;
  }

  #autolink(at: number): number {
    const found = autolinkAt(this.#text, at);
    if (!found) return at;
    this.#plain(at);
    this.#wholeLink(found.text, found.address);
    return this.#skip(found.end);
  }

  #bareLink(at: number): number {
    const found = bareLinkAt(this.#text, at);
    if (!found) return at;
    this.#plain(at);
    this.#wholeLink(found.text, found.address);
    return this.#skip(found.end);
  }

  #wholeLink(text: string, address: string): void {
    const node = this.#add("");
    this.#add(text);
    // The address is what is read, be it with or without its scheme.
    this.#link(node, address, address);
  }

  #entity(at: number): number {
    const found = decodeEntity(this.#text, at);
    if (!found) return at;
    this.#plain(at);
    this.#add(found.text);
    return this.#skip(found.end);
  }

  #emphasise(opener: number, closer: number, kind: "bold" | "italic" | "strikethrough"): void {
    const { theme } = this.#ink;
    const node = this.#nodes[opener] as Node;
    const mark = { style: theme[kind], after: "", link: undefined, isLink: false };
    node.opens = [mark, ...(node.opens ?? [])];
    (this.#nodes[closer] as Node).closes++;
  }

  #write(): string {
    const marks: Mark[] = [];
    let out = "";
    let pending = "";
    const flush = () => {
      if (pending === "") return;
      out += styleLines(pending, (part) => this.#style(part, marks));
      pending = "";
    };
    for (const node of this.#nodes) {
      if (node.closes > 0) flush();
      for (let count = 0; count < node.closes; count++) {
        const mark = marks.pop();
        if (mark) out += (mark.link === undefined ? "" : "\x1b]8;;\x1b\\") + mark.after;
      }
      if (node.isStyled) {
        flush();
        out += node.text;
      } else pending += node.text;
      if (!node.opens) continue;
      flush();
      for (const mark of node.opens) {
        marks.push(mark);
        if (mark.link !== undefined) out += `\x1b]8;;${mark.link}\x1b\\`;
      }
    }
    flush();
    return out;
  }

  #style(text: string, marks: Mark[]): string {
    const isLink = marks.some((mark) => mark.isLink);
    // A link has a colour of its own.
    let styled = isLink ? text : this.#base(text);
    for (const mark of marks) styled = mark.style(styled);
    return styled;
  }
}

/** Line ends are spaces, and one space on both sides is not part of the code. */
function codeText(text: string): string {
  const line = text.replaceAll("\n", " ");
  const isPadded = line.startsWith(" ") && line.endsWith(" ") && line.trim() !== "";
  return isPadded ? line.slice(1, -1) : line;
}
