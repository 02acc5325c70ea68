// Markdown on a terminal: the published component, and a guard for the parser below it.
//
// marked takes a time that grows with the square of a paragraph that has many `*` or `_` without an
// end, such as the prototypes of a C header; and the published rules for formulas look through the
// whole rest of the document at every paragraph. Both would pass a renderer's limit of two seconds.

import {
  type DefaultTextStyle,
  type MarkdownOptions,
  Markdown as PublishedMarkdown,
  type MarkdownTheme as PublishedTheme,
} from "@earendil-works/pi-tui/dist/components/markdown.js";
import { Lexer, type Token, Tokenizer } from "marked";

import { type Component, cut, type Style } from "./component.ts";
import { followLinks } from "./terminal.ts";

export type { DefaultTextStyle, MarkdownOptions };

/** The styles of the parts of a document. */
export interface MarkdownTheme extends PublishedTheme {
  /** Target of a link, for terminals that can follow it. */
  resolveLink?: (href: string) => string | undefined;
}

/** So many characters of a document are looked at in vain for ends of emphasis; then marks are text. */
const MAX_SEARCHED = 10_000_000;

let searched = 0;

// The bundle's marked is used for nothing else.
const { emStrong } = Tokenizer.prototype;
Tokenizer.prototype.emStrong = function (source, masked, previous) {
  if (searched > MAX_SEARCHED) return undefined;
  const found = emStrong.call(this, source, masked, previous);
  if (found === undefined && /^[*_]+\S/.test(source)) searched += source.length;
  return found;
};

const { lex } = Lexer.prototype;
Lexer.prototype.lex = function (source) {
  searched = 0;
  // The only extensions are those for formulas.
  if (!/\$|\\[([]/.test(source)) this.options = { ...this.options, extensions: null };
  return lex.call(this, source);
};

/** A document with margins. */
export class Markdown extends PublishedMarkdown implements Component {
  readonly #theme: MarkdownTheme;

  constructor(
    text: string,
    paddingX: number,
    paddingY: number,
    theme: MarkdownTheme,
    style?: DefaultTextStyle,
    options?: MarkdownOptions,
  ) {
    super(String(text), paddingX ?? 0, paddingY ?? 0, theme, style, options);
    this.#theme = theme;
  }

  override setText(text: string): void {
    super.setText(String(text));
  }

  setIgnoreTight(_ignore: boolean): this {
    return this;
  }

  override render(width: number): string[] {
    if (width < 1) return [];
    const draw = () => super.render(width);
    return cut(followLinks(this.#theme.resolveLink, draw), width);
  }
}

/** One line of Markdown without blocks, styled. */
export function renderInlineMarkdown(text: string, theme: MarkdownTheme, color?: Style): string {
  searched = 0;
  const markdown = new PublishedMarkdown("", 0, 0, theme, color ? { color } : undefined);
  const { renderInlineTokens } = markdown as unknown as {
    renderInlineTokens(tokens: Token[]): string;
  };
  return renderInlineTokens.call(markdown, Lexer.lexInline(String(text)));
}
