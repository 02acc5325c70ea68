// A component that belongs to the program and not to its terminal library.

import { type Component, theme } from "@oh-my-pi/pi-tui";

/** A horizontal line as wide as there is room. */
export class DynamicBorder implements Component {
  readonly #color: (text: string) => string;

  constructor(color: (text: string) => string = (text) => theme.fg("border", text)) {
    this.#color = color;
  }

  invalidate(): void {}

  render(width: number): string[] {
    return width < 1 ? [] : [this.#color("─".repeat(width))];
  }
}
