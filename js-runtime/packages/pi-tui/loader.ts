// A line that says that something goes on.
//
// Ours, because the published one runs a timer: here the host draws again while a call runs, often with
// a new component, and says which frame is due.

import { getKeybindings } from "@earendil-works/pi-tui/dist/keybindings.js";

import type { Style } from "./component.ts";
import { currentScreen } from "./screen.ts";
import { Text } from "./text.ts";
import { theme } from "./theme.ts";

export interface LoaderIndicatorOptions {
  /** The frames of the spinner; none for no spinner. */
  frames?: string[];
  /** Duration of a frame; the host's own frame rate counts here. */
  intervalMs?: number;
}

type Message = string | (() => string);

/** A spinner and a message. */
export class Loader extends Text {
  readonly #spinnerColor: Style;
  readonly #messageColor: Style;
  #message: Message;
  #frames: readonly string[];
  #isRunning = true;

  /** `ui` is the screen around it, which does not need a request to draw again. */
  constructor(
    _ui: unknown,
    spinnerColor: Style = (text) => text,
    messageColor: Style = (text) => text,
    message: Message = "Loading...",
    indicator?: LoaderIndicatorOptions | string[],
  ) {
    super("", 1, 0);
    this.#spinnerColor = spinnerColor;
    this.#messageColor = messageColor;
    this.#message = message;
    this.#frames = framesOf(indicator);
  }

  start(): void {
    this.#isRunning = true;
  }

  stop(): void {
    this.#isRunning = false;
  }

  dispose(): void {
    this.stop();
  }

  setMessage(message: Message): void {
    this.#message = message;
  }

  setIndicator(indicator?: LoaderIndicatorOptions): void {
    this.#frames = framesOf(indicator);
  }

  override render(width: number): string[] {
    const count = this.#isRunning ? this.#frames.length : 0;
    const frame = this.#frames[(currentScreen().spinnerFrame ?? 0) % Math.max(1, count)];
    const message = typeof this.#message === "function" ? this.#message() : this.#message;
    const spinner = count > 0 ? `${this.#spinnerColor(frame as string)} ` : "";
    this.setText(spinner + this.#messageColor(message));
    return ["", ...super.render(width)];
  }
}

function framesOf(indicator?: LoaderIndicatorOptions | string[]): readonly string[] {
  return (Array.isArray(indicator) ? indicator : indicator?.frames) ?? theme.spinnerFrames;
}

/** The same with a signal that Escape aborts. */
export class CancellableLoader extends Loader {
  onAbort?: () => void;
  readonly #controller = new AbortController();

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#controller.signal.aborted;
  }

  handleInput(data: string): void {
    if (!getKeybindings().matches(data, "tui.select.cancel")) return;
    this.#controller.abort();
    this.onAbort?.();
  }
}
