// Markdown on a terminal: headings, lists, code, quotes, tables and rules, in a theme's colours.
//
// `marked` reads the text; this file draws its block tokens and leaves what is inside of a line to
// `markdown-inline.ts`. Raw HTML is shown as it is written.

import { Lexer, type Token, type Tokens } from "marked";

import { type Component, fittingPadding, frame, type Style } from "./component.ts";
import { inline } from "./markdown-inline.ts";
import { drawTable } from "./markdown-table.ts";
import { TAB } from "./width.ts";
import { wrapTextWithAnsi } from "./wrap.ts";

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
}

/** How text looks that has no style of its own. */
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
  #base: Style;
  #background: Style | undefined;

  constructor(
    text: string,
    paddingX: number,
    paddingY: number,
    theme: MarkdownTheme,
    style: DefaultTextStyle = {},
  ) {
    this.#text = String(text);
    this.#padX = paddingX;
    this.#padY = paddingY;
    this.#theme = theme;
    this.#base = baseStyle(theme, style);
    this.#background = style.bgColor;
  }

  setText(text: string): void {
    this.#text = String(text);
  }

  invalidate(): void {}

  render(width: number): string[] {
    if (this.#text.trim() === "" || width < 1) return [];
    const padX = fittingPadding(this.#padX, width);
    const tokens = new Lexer().lex(this.#text.replaceAll("\t", TAB));
    const lines = blocks(tokens, width - 2 * padX, this.#theme, this.#base);
    return frame(lines, width, padX, this.#padY, this.#background);
  }
}

function baseStyle(theme: MarkdownTheme, style: DefaultTextStyle): Style {
  const { bold, italic, strikethrough, underline } = theme;
  const styles = [
    style.color,
    style.bold && bold,
    style.italic && italic,
    style.strikethrough && strikethrough,
    style.underline && underline,
  ].filter((one) => typeof one === "function");
  return (text) => styles.reduce((styled, add) => add(styled), text);
}

/** Blocks with one empty line between them. */
function blocks(tokens: Token[], width: number, theme: MarkdownTheme, base: Style): string[] {
  const lines: string[] = [];
  for (const token of tokens) {
    const drawn = block(token, width, theme, base);
    if (drawn.length > 0) lines.push(...(lines.length > 0 ? [""] : []), ...drawn);
  }
  return lines;
}

function block(token: Token, width: number, theme: MarkdownTheme, base: Style): string[] {
  const wrapped = (text: string) => wrapTextWithAnsi(text, width);
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "heading": {
      const style: Style = (text) => theme.heading(theme.bold(text));
      const marks = token.depth > 2 ? style(`${"#".repeat(token.depth)} `) : "";
      const text = inline(token.tokens ?? [], theme, style);
      return wrapped(marks + (token.depth === 1 ? theme.underline(text) : text));
    }
    case "code":
      return codeBlock(token as Tokens.Code, width, theme);
    case "blockquote": {
      const inner = blocks(token.tokens ?? [], Math.max(1, width - 2), theme, (text) =>
        theme.quote(theme.italic(text)),
      );
      return inner.flatMap((line) => wrapped(theme.quoteBorder("│ ") + line));
    }
    case "list":
      return list(token as Tokens.List, width, theme, base);
    case "table":
      return drawTable(token as Tokens.Table, width, theme, base);
    case "hr":
      return [theme.hr("─".repeat(Math.min(width, 80)))];
    case "html":
      return wrapped(base(token.raw.trimEnd()));
    default:
      return wrapped(
        "tokens" in token && token.tokens ? inline(token.tokens, theme, base) : base(token.raw),
      );
  }
}

function codeBlock({ lang, text }: Tokens.Code, width: number, theme: MarkdownTheme): string[] {
  const plain = () => text.split("\n").map(theme.codeBlock);
  const lines = theme.highlightCode?.(text, lang) ?? plain();
  const body = lines.flatMap((line) =>
    wrapTextWithAnsi(line, width - 2).map((part) => `  ${part}`),
  );
  const opening = wrapTextWithAnsi(theme.codeBlockBorder(`\`\`\`${lang ?? ""}`), width);
  return [
    ...opening,
    ...(width > 2 ? body : lines.flatMap((line) => wrapTextWithAnsi(line, width))),
    ...wrapTextWithAnsi(theme.codeBlockBorder("```"), width),
  ];
}

function list(
  { items, ordered, start }: Tokens.List,
  width: number,
  theme: MarkdownTheme,
  base: Style,
): string[] {
  return items.flatMap((item, index) => {
    const bullet = ordered ? `${Number(start || 1) + index}. ` : "- ";
    const box = item.task ? (item.checked ? "[x] " : "[ ] ") : "";
    const inner = Math.max(1, width - bullet.length);
    const indent = width > bullet.length ? " ".repeat(bullet.length) : "";
    const parts = item.tokens.filter((token) => token.type !== "checkbox");
    const drawn = parts.flatMap((token, at) => {
      const lines = block(token, inner, theme, base);
      return at === 0 && box ? wrapTextWithAnsi(box + lines.join(" "), inner) : lines;
    });
    const lines = drawn.length > 0 ? drawn : [""];
    return lines.flatMap((line, at) => {
      const lead = at === 0 ? theme.listBullet(bullet) : indent;
      return width > bullet.length ? [lead + line] : wrapTextWithAnsi(lead + line, width);
    });
  });
}
