// Text in lines: wrapped, cut to one line, or on a background together with other components.

import { type Component, Container, fittingPadding, frame, type Style } from "./component.ts";
import { TAB } from "./width.ts";
import { truncateToWidth, wrapTextWithAnsi } from "./wrap.ts";

/** Wrapped text with margins. Blank text takes no line at all. */
export class Text implements Component {
  #text: string;
  #padX: number;
  #padY: number;
  #background: Style | undefined;

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

  invalidate(): void {}

  render(width: number): string[] {
    if (this.#text.trim() === "" || width < 1) return [];
    const padX = fittingPadding(this.#padX, width);
    const lines = wrapTextWithAnsi(this.#text.replaceAll("\t", TAB), width - 2 * padX);
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
    return frame([truncateToWidth(first, width - 2 * padX)], width, padX, this.#padY);
  }
}

/** Components below each other, with margins and on one background. */
export class Box extends Container {
  #padX: number;
  #padY: number;
  #background: Style | undefined;

  constructor(paddingX = 1, paddingY = 1, background?: Style) {
    super();
    this.#padX = paddingX;
    this.#padY = paddingY;
    this.#background = background;
  }

  setBgFn(background?: Style): void {
    this.#background = background;
  }

  override render(width: number): string[] {
    if (width < 1) return [];
    const padX = fittingPadding(this.#padX, width);
    const lines = super.render(width - 2 * padX);
    return lines.length === 0 ? [] : frame(lines, width, padX, this.#padY, this.#background);
  }
}
