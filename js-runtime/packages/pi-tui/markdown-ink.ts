// The styles of a document, and their known properties.
//
// A style is an arbitrary function. Nearly all of them put codes around a text and do not change it:
// then a styled text is as wide as the text was, and the codes need not be parsed again.

import type { Style } from "./component.ts";
import { widthOfClosed } from "./escape.ts";
import type { DefaultTextStyle, MarkdownTheme } from "./markdown.ts";
import { visibleWidth, widthOfSimple } from "./width.ts";
import type { Span } from "./wrap.ts";

/** A style, and what it adds to a text. */
export class Pen {
  readonly style: Style;
  #extra: number | undefined;

  constructor(style: Style) {
    this.style = style;
  }

  /** So many characters, none of which is seen; -1 if it may do anything to a text. */
  get extra(): number {
    return (this.#extra ??= extraOf(this.style));
  }

  /** `text`, which takes `width` columns, in this style. */
  span(text: string, width: number): Span {
    const styled = this.style(text);
    return { text: styled, width: this.extends(text, styled) ? width : -1 };
  }

  /** Returns true if `styled` is `text` between codes. */
  extends(text: string, styled: string): boolean {
    return this.extra >= 0 && styled.length === text.length + this.extra;
  }
}

/** Styles of a document. */
export interface Ink {
  theme: MarkdownTheme;
  /** For text that has no style of its own. */
  base: Pen;
  pens: Pens;
  /** No style changes how wide a text is. */
  keepsWidths: boolean;
  /** Links can be followed, so that addresses need not be read. */
  hyperlinks: boolean;
}

/** Uses of the styles of a theme. */
export interface Pens {
  heading: Pen;
  underline: Pen;
  bold: Pen;
  italic: Pen;
  strikethrough: Pen;
  code: Pen;
  codeBlockBorder: Pen;
  quote: Pen;
  link: Pen;
  image: Pen;
  linkUrl: Pen;
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
  const keepsWidths = all.every(isNeutral);
  return { theme, base: new Pen(base), pens: pensOf(theme), keepsWidths, hyperlinks };
}

function pensOf(theme: MarkdownTheme): Pens {
  return {
    heading: new Pen((text) => theme.heading(theme.bold(text))),
    underline: new Pen((text) => theme.underline(text)),
    bold: new Pen((text) => theme.bold(text)),
    italic: new Pen((text) => theme.italic(text)),
    strikethrough: new Pen((text) => theme.strikethrough(text)),
    code: new Pen((text) => theme.code(text)),
    codeBlockBorder: new Pen((text) => theme.codeBlockBorder(text)),
    quote: new Pen((text) => theme.quote(theme.italic(text))),
    link: new Pen((text) => theme.link(theme.underline(text))),
    image: new Pen((text) => theme.link(text)),
    linkUrl: new Pen((text) => theme.linkUrl(text)),
  };
}

/** Adds nothing. */
export function same(text: string): string {
  return text;
}

/** Every character that is usual, so that a style which changes one of them is found out. */
const SAMPLE = `${String.fromCharCode(...Array.from({ length: 95 }, (_, at) => at + 0x20))}é…│あ日`;
const SAMPLE_WIDTH = widthOfSimple(SAMPLE);

function extraOf(style: Style): number {
  try {
    const styled = style(SAMPLE);
    const isWhole = styled.includes(SAMPLE) && widthOfClosed(styled) === SAMPLE_WIDTH;
    return isWhole ? styled.length - SAMPLE.length : -1;
  } catch {
    // It may be meant for other texts only.
    return -1;
  }
}
