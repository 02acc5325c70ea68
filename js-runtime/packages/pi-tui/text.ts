// Text in lines: wrapped, cut to one line, or on a background together with other components.

import {
  type Component,
  Container,
  fittingPadding,
  frame,
  measured,
  type Style,
} from "./component.ts";
import { TAB } from "./width.ts";
import { Lines, truncateToWidth, wrapInto } from "./wrap.ts";

/** Wrapped text with margins. Blank text takes no line at all. */
export class Text implements Component {
  #text: string;
  #padX: number;
  #padY: number;
  #background: Style | undefined;
  #style: Style | undefined;

  constructor(text = "", paddingX = 1, paddingY = 1, background?: Style) {
    this.#text = String(text);
    this.#padX = paddingX;
    this.#padY = paddingY;
    this.#background = background;
  }

  getText(): string {
    return this.#text;
  }

  setText(text: string): void {
    this.#text = String(text);
  }

  setCustomBgFn(background?: Style): void {
    this.#background = background;
  }

  /** A style that is asked anew for every drawing. */
  setStyleFn(style?: Style): this {
    this.#style = style;
    return this;
  }

  setIgnoreTight(_ignore: boolean): this {
    return this;
  }

  invalidate(): void {}

  render(width: number): string[] {
    if (this.#text.trim() === "" || width < 1) return [];
    const padX = fittingPadding(this.#padX, width);
    const lines = new Lines();
    const text = this.#style ? this.#style(this.#text) : this.#text;
    wrapInto(lines, text.replaceAll("\t", TAB), width - 2 * padX);
    return frame(lines, width, padX, this.#padY, this.#background);
  }
}

/** The first line of a text, cut where the screen ends. */
export class TruncatedText implements Component {
  #text: string;
  #padX: number;
  #padY: number;

  constructor(text: string, paddingX = 0, paddingY = 0) {
    this.#text = String(text);
    this.#padX = paddingX;
    this.#padY = paddingY;
  }

  setText(text: string): void {
    this.#text = String(text);
  }

  invalidate(): void {}

  render(width: number): string[] {
    if (width < 1) return [];
    const padX = fittingPadding(this.#padX, width);
    const [first = ""] = this.#text.replaceAll("\t", TAB).split("\n");
    return frame(measured([truncateToWidth(first, width - 2 * padX)]), width, padX, this.#padY);
  }
}

/** The outline of a box. */
export interface BoxBorder {
  chars: {
    topLeft: string;
    topRight: string;
    bottomLeft: string;
    bottomRight: string;
    horizontal: string;
    vertical: string;
  };
  color?: Style;
}

/** Components below each other, with margins, on one background and in an outline. */
export class Box extends Container {
  #padX: number;
  #padY: number;
  #background: Style | undefined;
  #border: BoxBorder | undefined;

  constructor(paddingX = 1, paddingY = 1, background?: Style, border?: BoxBorder) {
    super();
    this.#padX = paddingX;
    this.#padY = paddingY;
    this.#background = background;
    this.#border = border;
  }

  setPaddingX(paddingX: number): void {
    this.#padX = paddingX;
  }

  setPaddingY(paddingY: number): void {
    this.#padY = paddingY;
  }

  setBorder(border?: BoxBorder): void {
    this.#border = border;
  }

  setIgnoreTight(_ignore: boolean): this {
    return this;
  }

  setBgFn(background?: Style): void {
    this.#background = background;
  }

  override render(width: number): string[] {
    if (width < 1) return [];
    const border = width > 4 ? this.#border : undefined;
    const room = border ? width - 2 : width;
    const padX = fittingPadding(this.#padX, room);
    const lines = super.render(room - 2 * padX);
    if (lines.length === 0) return [];
    const framed = frame(measured(lines), room, padX, this.#padY, this.#background);
    return border ? outlined(framed, room, border) : framed;
  }
}

function outlined(lines: string[], width: number, { chars, color }: BoxBorder): string[] {
  const paint = (text: string) => (color ? color(text) : text);
  const rule = chars.horizontal.repeat(width);
  const side = paint(chars.vertical);
  return [
    paint(chars.topLeft + rule + chars.topRight),
    ...lines.map((line) => side + line + side),
    paint(chars.bottomLeft + rule + chars.bottomRight),
  ];
}
