// What is inside of a line of Markdown: emphasis, code, links, entities, breaks.
//
// The text becomes nodes; emphasis is then found between runs of delimiters, as CommonMark describes
// it, in linear time. `markdown-writer.ts` puts the nodes together.

import { matchEmphasis, type Run, runAt } from "./markdown-emphasis.ts";
import { type Ink, type Pen, same } from "./markdown-ink.ts";
import { autolinkAt, bareLinkAt, decodeEntity, destinationAt } from "./markdown-links.ts";
import { type Node, write } from "./markdown-writer.ts";
import { widthOfSimple } from "./width.ts";
import { type Span, textOf } from "./wrap.ts";

/** Link definitions: addresses by label, and the lines that only contain definitions. */
export interface Definitions {
  links: Map<string, string>;
  lines: Set<string>;
}

/** Of a document that has none. */
export const NO_DEFINITIONS: Definitions = { links: new Map(), lines: new Set() };
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

/** Whatever could be more than plain text. Underscores inside of words never are. */
const SPECIAL = /[\\`*~[<&]|(?<![A-Za-z0-9_])_|_(?![A-Za-z0-9_])|https?:|www\./;

const MARKS = new Uint8Array(0x80);
for (const mark of "\\`*_~![]<&") MARKS[mark.charCodeAt(0)] = 1;
// Those that are frequent in plain text tell with what follows them.
for (const mark of " hw") MARKS[mark.charCodeAt(0)] = 2;

/** A first look, whether something special may begin with the character at `at`. */
function mayBegin(code: number, text: string, at: number): boolean {
  const mark = code < 0x80 ? MARKS[code] : 0;
  if (mark !== 2) return mark === 1;
  const next = text.charCodeAt(at + 1);
  if (code === 0x20) return next === 0x20 || next === 0x0a;
  return next === (code === 0x68 ? 0x74 : 0x77);
}

/** The styled lines of a text, which end where the author's end. */
export function inline(
  text: string,
  ink: Ink,
  base: Pen,
  definitions: Definitions = NO_DEFINITIONS,
): Span[] {
  if (SPECIAL.test(text)) return new Inline(text, ink, base, definitions).styled();
  if (!text.includes("\n")) return [plain(text, base)];
  return text.split("\n").map((line) => plain(line, base));
}

/** The same in one line. */
export function inlineSpan(text: string, ink: Ink, base: Pen, definitions: Definitions): Span {
  const spans = inline(text, ink, base, definitions);
  return spans.length === 1 ? (spans[0] as Span) : { text: textOf(spans), width: -1 };
}

function plain(line: string, base: Pen): Span {
  if (line === "") return { text: "", width: 0 };
  const width = widthOfSimple(line);
  return base.style === same ? { text: line, width } : base.span(line, width);
}

interface Bracket {
  node: number;
  at: number;
  isImage: boolean;
}

class Inline {
  readonly #text: string;
  readonly #ink: Ink;
  readonly #base: Pen;
  readonly #definitions: Definitions;
  readonly #nodes: Node[] = [];
  #brackets: Bracket[] = [];
  /** Start of the text that is not in a node yet. */
  #from = 0;
  /** Lengths of runs of backticks that do not come again. */
  #unclosed: Set<number> | undefined;
  #hasRuns = false;

  constructor(text: string, ink: Ink, base: Pen, definitions: Definitions) {
    this.#text = text;
    this.#ink = ink;
    this.#base = base;
    this.#definitions = definitions;
  }

  styled(): Span[] {
    this.#scan();
    this.#match(0);
    return write(this.#nodes, this.#base);
  }

  /** Finds emphasis in the nodes from `from` on. */
  #match(from: number): void {
    if (!this.#hasRuns) return;
    matchEmphasis(this.#nodes, from, (opener, closer, kind) =>
      this.#emphasise(opener, closer, kind),
    );
  }

  #scan(): void {
    const text = this.#text;
    for (let at = 0; at < text.length; ) {
      const code = text.charCodeAt(at);
      const next = mayBegin(code, text, at) ? this.#special(at, code) : at;
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
        this.#hasRuns = true;
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

  #add(text: string, run?: Run, styled?: number): number {
    this.#nodes.push({ text, styled, run, opens: undefined, closes: 0 });
    return this.#nodes.length - 1;
  }

  #addStyled(text: string, pen: Pen): void {
    const span = pen.span(text, widthOfSimple(text));
    this.#add(span.text, undefined, span.width);
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
    if (!this.#unclosed?.has(count)) {
      for (let end = text.indexOf("`", begin); end >= 0; end = text.indexOf("`", end)) {
        const from = end;
        while (text.charCodeAt(end) === 0x60) end++;
        if (end - from !== count) continue;
        this.#plain(at);
        this.#addStyled(codeText(text.slice(begin, from)), this.#ink.pens.code);
        return this.#skip(end);
      }
      (this.#unclosed ??= new Set()).add(count);
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
    this.#match(bracket.node + 1);
    if (bracket.isImage) this.#image(bracket, label, target.address);
    else {
      this.#link(bracket.node, label, target.address);
      // Links cannot contain links.
      this.#brackets = this.#brackets.filter((outer) => outer.isImage);
    }
    return this.#skip(target.end);
  }

  /** Target of a link whose text ends before `at`. */
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
    this.#addStyled(label || address, this.#ink.pens.image);
  }

  #link(node: number, text: string, address: string): void {
    const { theme, pens, hyperlinks } = this.#ink;
    const opener = this.#nodes[node] as Node;
    opener.text = "";
    const isSaid = text === address || `mailto:${text}` === address;
    const link = hyperlinks ? (theme.resolveLink?.(address) ?? address) : undefined;
    const after = isSaid || hyperlinks ? NOTHING : said(address, pens.linkUrl);
    opener.opens = [{ pen: pens.link, after, link, isLink: true }, ...(opener.opens ?? [])];
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
    const node = this.#nodes[opener] as Node;
    const pen = this.#ink.pens[kind];
    const mark = { pen, after: NOTHING, link: undefined, isLink: false };
    node.opens = [mark, ...(node.opens ?? [])];
    (this.#nodes[closer] as Node).closes++;
  }
}

const NOTHING: Span = { text: "", width: 0 };

/** An address behind the text of its link. */
function said(address: string, pen: Pen): Span {
  const text = `(${address})`;
  const { text: styled, width } = pen.span(text, widthOfSimple(text));
  return { text: ` ${styled}`, width: width < 0 ? -1 : width + 1 };
}

/** Line ends are spaces, and one space on both sides is not part of the code. */
function codeText(text: string): string {
  const line = text.replaceAll("\n", " ");
  const isPadded = line.startsWith(" ") && line.endsWith(" ") && line.trim() !== "";
  return isPadded ? line.slice(1, -1) : line;
}
