// Text in lines: wrapped, cut to one line, or on a background together with other components.
//
// The published components, with what omp's have beyond them.

import { Box as PublishedBox } from "@earendil-works/pi-tui/dist/components/box.js";
import { Text as PublishedText } from "@earendil-works/pi-tui/dist/components/text.js";
import { TruncatedText as PublishedTruncatedText } from "@earendil-works/pi-tui/dist/components/truncated-text.js";

import { type Component, cut, type Holder, type Style } from "./component.ts";
import { replaceTabs } from "./width.ts";

/** Wrapped text with margins. Blank text takes no line at all. */
export class Text extends PublishedText implements Component {
  #text: string;
  #style: Style | undefined;

  constructor(text = "", paddingX = 1, paddingY = 1, background?: Style) {
    super(String(text), paddingX, paddingY, background);
    this.#text = String(text);
  }

  getText(): string {
    return this.#text;
  }

  override setText(text: string): void {
    this.#text = String(text);
    super.setText(this.#text);
  }

  /** A style that is asked anew for every drawing. */
  setStyleFn(style?: Style): this {
    this.#style = style;
    super.setText(this.#text);
    return this;
  }

  setIgnoreTight(_ignore: boolean): this {
    return this;
  }

  override render(width: number): string[] {
    if (width < 1 || this.#text.trim() === "") return [];
    if (this.#style) super.setText(this.#style(this.#text));
    return super.render(width);
  }
}

/** The first line of a text, cut where the screen ends. */
export class TruncatedText extends PublishedTruncatedText implements Component {
  constructor(text: string, paddingX = 0, paddingY = 0) {
    super(replaceTabs(String(text)), paddingX, paddingY);
  }

  setText(text: string): void {
    Object.assign(this, { text: replaceTabs(String(text)) });
  }

  override render(width: number): string[] {
    return width < 1 ? [] : cut(super.render(width), width);
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

const PublishedHolder = PublishedBox as unknown as new (
  ...args: ConstructorParameters<typeof PublishedBox>
) => Holder<PublishedBox>;

/** Components below each other, with margins, on one background and in an outline. */
export class Box extends PublishedHolder implements Component {
  #border: BoxBorder | undefined;

  constructor(paddingX = 1, paddingY = 1, background?: Style, border?: BoxBorder) {
    super(paddingX, paddingY, background);
    this.#border = border;
  }

  setPaddingX(paddingX: number): void {
    Object.assign(this, { paddingX });
    this.invalidate();
  }

  setPaddingY(paddingY: number): void {
    Object.assign(this, { paddingY });
    this.invalidate();
  }

  setBorder(border?: BoxBorder): void {
    this.#border = border;
  }

  setIgnoreTight(_ignore: boolean): this {
    return this;
  }

  override render(width: number): string[] {
    if (width < 1) return [];
    const border = width > 4 ? this.#border : undefined;
    const room = border ? width - 2 : width;
    const lines = cut(super.render(room), room);
    return border && lines.length > 0 ? outlined(lines, room, border) : lines;
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
