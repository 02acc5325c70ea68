// `pi.ui.custom`: a component of a tool that has the keyboard focus until it calls `done`.
//
// The component is kept here; the screen belongs to the surface. Rust sends keys and the size of the
// screen, and gets lines. An error that the author's code throws meanwhile rejects the promise.

import {
  op_haft_show,
  op_haft_show_canvas,
  op_haft_show_paint,
  op_haft_show_touch,
  op_haft_ui_withdraw,
} from "ext:core/ops";
import { captured, type RunningCall } from "ext:haft/00_state.ts";
import { packageByName } from "ext:haft/05_packages.ts";
import { Overlays, type Wish } from "ext:haft/12_overlays.ts";

/** Passes the result to the caller of `custom`. */
type Done = (result?: unknown) => void;
type Factory = (tui: unknown, theme: unknown, keybindings: unknown, done: Done) => unknown;

/** Options for showing the component. */
export interface Manner {
  /** As an overlay over nothing, placed by `overlayOptions`. */
  overlay?: boolean;
  overlayOptions?: Wish;
  /** Is given the overlay's handle. */
  onHandle?: (handle: unknown) => void;
}

/** Twin of `Showing::canvas` in `crates/engine/src/widgets.rs`. */
interface Canvas {
  columns: number;
  rows: number;
  screen: object;
}

/** Twin of `Touch` in `crates/tool/src/widget.rs`. */
type Touch = { kind: "size"; columns: number; rows: number } | { kind: "key"; data: string };

/** Shows the component of `factory`, as the question `id` of `call`; undefined without a screen. */
export async function showCustom(
  call: RunningCall | undefined,
  id: number,
  factory: Factory,
  manner?: Manner,
): Promise<unknown> {
  if (typeof factory !== "function") {
    throw new TypeError("ui.custom: give a function that makes a component");
  }
  const canvas = op_haft_show_canvas(call?.id ?? 0, call?.owner ?? "");
  if (canvas === "") return undefined;
  const stage = new Stage(id, captured.jsonParse(canvas) as Canvas);
  const cancelled = call?.abort?.signal;
  const withdraw = () => op_haft_ui_withdraw(id);
  cancelled?.addEventListener("abort", withdraw, { once: true });
  try {
    await stage.make(factory, manner);
    if (cancelled?.aborted) return undefined;
    return await stage.show(call);
  } finally {
    cancelled?.removeEventListener("abort", withdraw);
    withdraw();
    stage.leave();
  }
}

/** One component on its screen. */
class Stage {
  readonly #id: number;
  readonly #canvas: Canvas;
  readonly #pi = packageByName("pi-tui");
  readonly #over = Promise.withResolvers<unknown>();
  readonly #overlays: Overlays;
  #isOver = false;
  #component: any;
  /** The component is an overlay itself. */
  #isOverlay = false;
  /** The surface has said how large it is. */
  #isOnScreen = false;
  #willPaint = false;

  constructor(id: number, canvas: Canvas) {
    this.#id = id;
    this.#canvas = canvas;
    const { visibleWidth, sliceWithWidth } = this.#pi;
    this.#overlays = new Overlays({ visibleWidth, sliceWithWidth }, canvas, this.#paintSoon);
    // An error can come before the promise is awaited; without this handler it would be unhandled.
    this.#over.promise.catch(() => {});
  }

  async make(factory: Factory, manner?: Manner): Promise<void> {
    this.#lookAtScreen();
    const { theme, getKeybindings } = this.#pi;
    const component: any = await factory(this.#tui(), theme, getKeybindings(), this.#done);
    this.#component = component;
    if (this.#isOver) return;
    if (typeof component?.render !== "function") {
      throw new TypeError("ui.custom: the function returned no component: it has no `render`");
    }
    this.#isOverlay = Boolean(manner?.overlay);
    if (!this.#isOverlay) return this.#overlays.settle(component);
    const handle = this.#overlays.settleAbove(component, manner?.overlayOptions);
    manner?.onHandle?.(handle);
  }

  /** Waits until the component is done, or the screen is gone. */
  show(call: RunningCall | undefined): Promise<unknown> {
    if (!this.#isOver) {
      const shown = op_haft_show(call?.id ?? 0, call?.owner ?? "", this.#id);
      captured.then(shown, () => this.#done(undefined), this.#fail);
      captured.then(this.#listen(), () => {}, this.#fail);
    }
    return this.#over.promise;
  }

  leave(): void {
    this.#isOver = true;
    for (const shown of new Set([...this.#overlays.components(), this.#component])) {
      shown?.dispose?.();
    }
  }

  readonly #done = (result?: unknown): void => {
    this.#isOver = true;
    this.#over.resolve(result);
  };

  readonly #fail = (error: unknown): void => {
    this.#isOver = true;
    this.#over.reject(error);
  };

  async #listen(): Promise<void> {
    while (!this.#isOver) {
      const text = await op_haft_show_touch(this.#id);
      if (text === "" || this.#isOver) return;
      const touch: Touch = captured.jsonParse(text);
      this.#lookAtScreen();
      if (touch.kind === "size") this.#resize(touch.columns, touch.rows);
      else this.#press(touch.data);
      this.#paintSoon();
    }
  }

  #resize(columns: number, rows: number): void {
    this.#canvas.columns = columns;
    this.#canvas.rows = rows;
    this.#isOnScreen = true;
    this.#component.invalidate?.();
    this.#overlays.invalidate();
  }

  #press(data: string): void {
    const focused = this.#overlays.focused as any;
    if (this.#pi.isKeyRelease(data) && !focused?.wantsKeyRelease) return;
    focused?.handleInput?.(data);
  }

  // Whatever changes in one turn is drawn once.
  readonly #paintSoon = (): void => {
    if (this.#willPaint || !this.#isOnScreen) return;
    this.#willPaint = true;
    captured.then(captured.resolve(undefined), () => this.#paint(), this.#fail);
  };

  #paint(): void {
    this.#willPaint = false;
    if (this.#isOver) return;
    try {
      this.#lookAtScreen();
      let text = "";
      const beneath = this.#isOverlay ? [] : this.#component.render(this.#canvas.columns);
      for (const line of this.#overlays.compose(beneath)) text += `${line}\n`;
      op_haft_show_paint(this.#id, text);
    } catch (error) {
      this.#fail(error);
    }
  }

  // Other drawings may have looked at another screen since.
  #lookAtScreen(): void {
    this.#pi.theme[Symbol.for("haft.screen")](this.#canvas.screen);
  }

  /** As much of the original's terminal as a component needs. */
  #tui(): object {
    const canvas = this.#canvas;
    const overlays = this.#overlays;
    return {
      requestRender: this.#paintSoon,
      setFocus: (component: unknown) => overlays.setFocus(component),
      showOverlay: (component: unknown, options?: Wish) => overlays.show(component, options),
      hideOverlay: () => overlays.hideTop(),
      hasOverlay: () => overlays.hasVisible(),
      terminal: {
        get columns() {
          return canvas.columns;
        },
        get rows() {
          return canvas.rows;
        },
        kittyProtocolActive: false,
      },
    };
  }
}
