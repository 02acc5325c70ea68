// Markdown on a terminal: headings, lists, code, quotes, tables and rules, in a theme's colours.
//
// Reads and draws in one walk over the lines, since a result of ten thousand lines is drawn again
// whenever the screen changes. What is inside of a line is left to `markdown-inline.ts`. Raw HTML is
// shown as it is written.

import { type Component, fittingPadding, frame, type Style, spaces } from "./component.ts";
import { type Ink, inkOf, type Pen } from "./markdown-ink.ts";
import { type Definitions, definitionsOf, inline, NO_DEFINITIONS } from "./markdown-inline.ts";
import {
  type Fence,
  fenceAt,
  headingAt,
  type Item,
  indentOf,
  interrupts,
  isBlank,
  isRule,
  itemAt,
  quoted,
  underlineAt,
} from "./markdown-lines.ts";
import { drawTable, tableAt } from "./markdown-table.ts";
import { currentScreen } from "./screen.ts";
import { isPlain, TAB, widthOfSimple } from "./width.ts";
import { Lines, type Span, textOf, wrapInto, wrapSpans } from "./wrap.ts";

/** The styles of the parts of a document. */
export interface MarkdownTheme {
  heading: Style;
  link: Style;
  linkUrl: Style;
  code: Style;
  codeBlock: Style;
  codeBlockBorder: Style;
  quote: Style;
  quoteBorder: Style;
  hr: Style;
  listBullet: Style;
  bold: Style;
  italic: Style;
  strikethrough: Style;
  underline: Style;
  highlightCode?: (code: string, language?: string) => string[];
  /** Before each line of code; two spaces if nothing is said. */
  codeBlockIndent?: string;
  /** Target of a link, for terminals that can follow it. */
  resolveLink?: (href: string) => string | undefined;
}

/** Style of text that has no style of its own. */
export interface DefaultTextStyle {
  color?: Style;
  bgColor?: Style;
  bold?: boolean;
  italic?: boolean;
  strikethrough?: boolean;
  underline?: boolean;
}

/** A document with margins. */
export class Markdown implements Component {
  #text: string;
  #padX: number;
  #padY: number;
  #theme: MarkdownTheme;
  #style: DefaultTextStyle;
  #kept: { width: number; lines: string[] } | undefined;

  constructor(
    text: string,
    paddingX: number,
    paddingY: number,
    theme: MarkdownTheme,
    style: DefaultTextStyle = {},
  ) {
    this.#text = String(text);
    this.#padX = paddingX ?? 0;
    this.#padY = paddingY ?? 0;
    this.#theme = theme;
    this.#style = style ?? {};
  }

  setText(text: string): void {
    this.#text = String(text);
    this.#kept = undefined;
  }

  invalidate(): void {
    this.#kept = undefined;
  }

  setIgnoreTight(_ignore: boolean): this {
    return this;
  }

  render(width: number): string[] {
    if (this.#text.trim() === "" || width < 1) return [];
    if (this.#kept?.width === width) return this.#kept.lines;
    const padX = fittingPadding(this.#padX, width);
    const drawn = new Lines();
    const text = this.#text.replaceAll("\t", TAB);
    const written = text.includes("\r") ? text.split(/\r\n|\n|\r/) : text.split("\n");
    const ink = inkOf(this.#theme, this.#style, currentScreen().hyperlinks);
    const page = new Page(ink, text.includes("]:") ? definitionsOf(written) : NO_DEFINITIONS);
    page.blocks(written, width - 2 * padX, drawn);
    const lines = frame(drawn, width, padX, this.#padY, this.#style.bgColor);
    this.#kept = { width, lines };
    return lines;
  }
}

/** One line of Markdown without blocks, styled. */
export function renderInlineMarkdown(text: string, theme: MarkdownTheme, color?: Style): string {
  const ink = inkOf(theme, color ? { color } : {}, currentScreen().hyperlinks);
  return textOf(inline(String(text), ink, ink.base));
}

/** So many lines are settled at once. */
const UNSETTLED = 256;

/** Deeper than this, blocks are shown as they are written. */
const DEEPEST = 24;

class Page {
  readonly #ink: Ink;
  readonly #definitions: Definitions;
  #base: Pen;
  #depth = 0;
  /** So many lines are of one piece. */
  #settled = 0;

  constructor(ink: Ink, definitions: Definitions) {
    this.#ink = ink;
    this.#definitions = definitions;
    this.#base = ink.base;
  }

  /** Draws blocks, with one empty line between two of them. */
  blocks(written: string[], width: number, lines: Lines, isTight = false): void {
    const first = lines.length;
    for (let at = 0; at < written.length; ) {
      if (isBlank(written[at] as string)) {
        at++;
        continue;
      }
      const before = lines.length;
      const separated = before > first && !isTight;
      if (separated) lines.push("", 0);
      at = this.#block(written, at, width, lines);
      // A definition draws nothing.
      if (separated && lines.length === before + 1) lines.pop();
      if (this.#depth === 0 && lines.length >= this.#settled + UNSETTLED) {
        lines.settle(this.#settled);
        this.#settled = lines.length;
      }
    }
  }

  /** Draws the block that begins at `at`; the answer is where it ends. */
  #block(written: string[], at: number, width: number, lines: Lines): number {
    const line = written[at] as string;
    if (this.#depth >= DEEPEST) return this.#paragraph(written, at, width, lines);
    const indent = indentOf(line);
    if (indent >= 4) return this.#indentedCode(written, at, width, lines);
    switch (line.charCodeAt(indent)) {
      case 0x23: {
        const heading = headingAt(line);
        if (heading) {
          this.#heading(heading.text, heading.depth, width, lines);
          return at + 1;
        }
        break;
      }
      case 0x60: // `
      case 0x7e: {
        const fence = fenceAt(line);
        if (fence) return this.#fencedCode(written, at, fence, width, lines);
        break;
      }
      case 0x3e: // >
        return this.#quote(written, at, width, lines);
      case 0x5b: // [
        if (this.#definitions.lines.has(line)) return at + 1;
        break;
      default:
    }
    if (isRule(line)) {
      const columns = Math.min(width, 80);
      lines.push(String(this.#ink.theme.hr("─".repeat(columns))), columns);
      return at + 1;
    }
    const item = itemAt(line);
    if (item) return this.#list(written, at, item, width, lines);
    const table = tableAt(written, at);
    if (table) {
      drawTable(table, width, this.#ink, this.#base, this.#definitions, lines);
      return table.end;
    }
    return this.#paragraph(written, at, width, lines);
  }

  #heading(text: string, depth: number, width: number, lines: Lines): void {
    const { heading, underline } = this.#ink.pens;
    const spans = inline(text, this.#ink, heading, this.#definitions);
    if (depth === 1) return wrapSpans(lines, [whole(spans, underline)], width);
    if (depth > 2) {
      const marks = `${"#".repeat(depth)} `;
      const first = spans[0] as Span;
      const lead = heading.span(marks, marks.length);
      spans[0] = together(lead, first);
    }
    wrapSpans(lines, spans, width);
  }

  #paragraph(written: string[], at: number, width: number, lines: Lines): number {
    let end = at + 1;
    for (; end < written.length; end++) {
      const line = written[end] as string;
      const depth = underlineAt(line);
      if (depth > 0) {
        const text = written.slice(at, end).map((part) => part.trim());
        this.#heading(text.join("\n"), depth, width, lines);
        return end + 1;
      }
      if (isBlank(line) || interrupts(line) || tableAt(written, end)) break;
    }
    let text = (written[at] as string).trim();
    // Two spaces at the end of a line are a break; every end of a line is one here.
    for (let index = at + 1; index < end; index++) text += `\n${(written[index] as string).trim()}`;
    wrapSpans(lines, inline(text, this.#ink, this.#base, this.#definitions), width);
    return end;
  }

  #fencedCode(written: string[], at: number, fence: Fence, width: number, lines: Lines): number {
    const code: string[] = [];
    let end = at + 1;
    for (; end < written.length; end++) {
      const line = written[end] as string;
      if (fence.isEnd(line)) {
        end++;
        break;
      }
      const indent = Math.min(indentOf(line), fence.indent);
      code.push(indent > 0 ? line.slice(indent) : line);
    }
    this.#code(code, fence.language, width, lines);
    return end;
  }

  #indentedCode(written: string[], at: number, width: number, lines: Lines): number {
    const code: string[] = [];
    let end = at;
    for (; end < written.length; end++) {
      const line = written[end] as string;
      if (!isBlank(line) && indentOf(line) < 4) break;
      code.push(line.slice(4));
    }
    while (isBlank(code.at(-1) ?? "x")) code.pop();
    this.#code(code, undefined, width, lines);
    return end;
  }

  #code(code: string[], language: string | undefined, width: number, lines: Lines): void {
    const { theme } = this.#ink;
    this.#codeBorder(`\`\`\`${language ?? ""}`, width, lines);
    const margin = width > 2 ? (theme.codeBlockIndent ?? "  ") : "";
    const room = Math.max(1, width - margin.length);
    const text = code.join("\n");
    const styled = theme.highlightCode?.(text, language);
    // A highlighter that answers with other lines is taken at its word.
    const isSame = this.#ink.keepsWidths && styled?.length === code.length;
    const shown = styled ?? code.map(theme.codeBlock);
    for (let index = 0; index < shown.length; index++) {
      const line = shown[index] as string;
      const plain = styled && !isSame ? undefined : code[index];
      if (plain !== undefined && plain.length <= room && isPlain(plain) && this.#ink.keepsWidths) {
        lines.push(margin + line, margin.length + plain.length);
        continue;
      }
      const from = lines.length;
      wrapInto(lines, line, room);
      lines.indent(from, margin, margin.length);
    }
    this.#codeBorder("```", width, lines);
  }

  #codeBorder(text: string, width: number, lines: Lines): void {
    wrapSpans(lines, [this.#ink.pens.codeBlockBorder.span(text, widthOfSimple(text))], width);
  }

  #quote(written: string[], at: number, width: number, lines: Lines): number {
    const inside: string[] = [];
    let end = at;
    for (; end < written.length; end++) {
      const line = written[end] as string;
      const text = quoted(line);
      if (text !== undefined) inside.push(text);
      // A line that goes on with a paragraph need not repeat the mark.
      else if (isBlank(line) || isBlank(inside.at(-1) as string) || interrupts(line)) break;
      else inside.push(line);
    }
    const base = this.#base;
    this.#base = this.#ink.pens.quote;
    const first = lines.length;
    this.#depth++;
    this.blocks(inside, Math.max(1, width - 2), lines);
    this.#depth--;
    this.#base = base;
    const bar = this.#ink.theme.quoteBorder;
    if (width > 2) lines.indent(first, bar("│ "), 2);
    else for (const line of lines.takeFrom(first)) wrapInto(lines, bar("│ ") + line, width);
    return end;
  }

  /** Draws the items of one kind that follow each other. */
  #list(written: string[], at: number, first: Item, width: number, lines: Lines): number {
    let number = first.number;
    let end = at;
    for (let item: Item | undefined = first; item?.kind === first.kind; ) {
      const { inside, next, isLoose } = this.#item(written, end, item);
      const bullet = number === undefined ? "- " : `${number++}. `;
      this.#drawItem(inside, bullet, isLoose, width, lines);
      end = next;
      let following = end;
      while (following < written.length && isBlank(written[following] as string)) following++;
      const line = written[following];
      item = line === undefined || indentOf(line) >= 4 || isRule(line) ? undefined : itemAt(line);
      if (item?.kind === first.kind) end = following;
    }
    return end;
  }

  /** The lines of an item without its mark, and where the next one may begin. */
  #item(
    written: string[],
    at: number,
    { content, text }: Item,
  ): { inside: string[]; next: number; isLoose: boolean } {
    const inside = [text];
    let isLoose = false;
    let next = at + 1;
    for (; next < written.length; next++) {
      const line = written[next] as string;
      if (isBlank(line)) {
        inside.push("");
        continue;
      }
      const afterBlank = isBlank(inside.at(-1) as string) && inside.length > 1;
      if (indentOf(line) >= content) {
        inside.push(line.slice(content));
        isLoose ||= afterBlank;
      } else if (!afterBlank && text !== "" && !interrupts(line) && !itemAt(line)) {
        inside.push(line.trimStart());
      } else break;
    }
    while (inside.length > 1 && isBlank(inside.at(-1) as string)) inside.pop();
    return { inside, next, isLoose };
  }

  #drawItem(inside: string[], bullet: string, isLoose: boolean, width: number, lines: Lines): void {
    const { theme, keepsWidths } = this.#ink;
    const indent = bullet.length;
    const first = lines.length;
    inside[0] = taskBox(inside[0] as string);
    this.#depth++;
    this.blocks(inside, Math.max(1, width - indent), lines, !isLoose);
    this.#depth--;
    if (lines.length === first) lines.push("", 0);
    if (width > indent && keepsWidths) {
      lines.indent(first, spaces(indent), indent, theme.listBullet(bullet));
      return;
    }
    let lead = theme.listBullet(bullet);
    for (const line of lines.takeFrom(first)) {
      wrapInto(lines, lead + line, width);
      lead = width > indent ? spaces(indent) : "";
    }
  }
}

/** All lines in one more style. */
function whole(spans: Span[], pen: Pen): Span {
  const [first] = spans;
  return spans.length === 1 && first
    ? pen.span(first.text, first.width)
    : pen.span(textOf(spans), -1);
}

/** One span behind the other. */
function together(first: Span, second: Span): Span {
  const isKnown = first.width >= 0 && second.width >= 0;
  return { text: first.text + second.text, width: isKnown ? first.width + second.width : -1 };
}

/** The box of a task must not be read as a link. */
function taskBox(line: string): string {
  return /^\[[ xX]\] /.test(line) ? `\\[${line[1] === " " ? " " : "x"}\\] ${line.slice(4)}` : line;
}
