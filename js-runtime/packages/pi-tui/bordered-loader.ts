// Something that goes on, between two lines, with a signal that Escape aborts.

import { Spacer } from "@earendil-works/pi-tui/dist/components/spacer.js";

import { type Component, Container, type Style } from "./component.ts";
import { CancellableLoader, Loader } from "./loader.ts";
import { Text } from "./text.ts";
import { type Theme, theme } from "./theme.ts";
import { keyHint } from "./theme-components.ts";

export class BorderedLoader extends Container {
  readonly #loader: CancellableLoader | Loader;
  readonly #controller = new AbortController();

  constructor(
    tui: unknown,
    theme: Pick<Theme, "fg">,
    message: string,
    { cancellable = true }: { cancellable?: boolean } = {},
  ) {
    super();
    const accent = (text: string) => theme.fg("accent", text);
    const muted = (text: string) => theme.fg("muted", text);
    const border = (text: string) => theme.fg("border", text);
    this.#loader = new (cancellable ? CancellableLoader : Loader)(tui, accent, muted, message);
    this.addChild(new DynamicBorder(border));
    this.addChild(this.#loader);
    if (cancellable) {
      this.addChild(new Spacer(1));
      this.addChild(new Text(keyHint("tui.select.cancel", "cancel"), 1, 0));
    }
    this.addChild(new Spacer(1));
    this.addChild(new DynamicBorder(border));
  }

  get signal(): AbortSignal {
    return this.#loader instanceof CancellableLoader
      ? this.#loader.signal
      : this.#controller.signal;
  }

  set onAbort(listener: (() => void) | undefined) {
    if (this.#loader instanceof CancellableLoader && listener) this.#loader.onAbort = listener;
  }

  handleInput(data: string): void {
    if (this.#loader instanceof CancellableLoader) this.#loader.handleInput(data);
  }

  dispose(): void {
    this.#loader.dispose();
  }
}

/** A horizontal line as wide as there is room. */
export class DynamicBorder implements Component {
  readonly #color: Style;

  constructor(color: Style = (text) => theme.fg("border", text)) {
    this.#color = color;
  }

  invalidate(): void {}

  render(width: number): string[] {
    return width < 1 ? [] : [this.#color("─".repeat(width))];
  }
}
