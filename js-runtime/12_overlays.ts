// Overlays: components on top of the one that `pi.ui.custom` shows, and the keyboard focus.
//
// Overlays are placed within the area of a component, `tui.terminal`; the lines below stay visible
// around them. Each layer remembers its last focused component, so that the focus is restored when
// the layer above is removed.

import type {
  OverlayAnchor,
  OverlayHandle,
  OverlayMargin,
  OverlayOptions,
  SizeValue,
} from "@earendil-works/pi-tui/dist/tui.js";

/** Functions of `pi-tui` that measure and cut lines. */
interface Ruler {
  visibleWidth(text: string): number;
  sliceWithWidth(
    line: string,
    start: number,
    length: number,
    strict?: boolean,
  ): { text: string; width: number };
}

/** Current size of the area. */
interface Room {
  readonly columns: number;
  readonly rows: number;
}

/** Options, or a function that says at each look what they are. */
export type Wish = OverlayOptions | (() => OverlayOptions | undefined) | undefined;

/** A component, and who in it has the keyboard when it is its turn. */
interface Layer {
  readonly component: any;
  readonly wish: Wish;
  focused: unknown;
  isHidden: boolean;
  wantsKeyboard: boolean;
  /** Its place in the last drawing. */
  placed?: Placed;
}

/** An overlay as it is drawn. */
interface Placed {
  row: number;
  column: number;
  width: number;
  lines: string[];
}

/** The width of overlays that do not say theirs. */
const WIDTH = 80;

/** Share of the free space before an overlay: to its left, and above it. */
const ANCHORS: Record<OverlayAnchor, readonly [number, number]> = {
  "top-left": [0, 0],
  "top-center": [0.5, 0],
  "top-right": [1, 0],
  "left-center": [0, 0.5],
  center: [0.5, 0.5],
  "right-center": [1, 0.5],
  "bottom-left": [0, 1],
  "bottom-center": [0.5, 1],
  "bottom-right": [1, 1],
};

/** The overlays of one screen, the last one on top. */
export class Overlays {
  readonly #ruler: Ruler;
  readonly #room: Room;
  readonly #changed: () => void;
  /** Focused component if no overlay has the focus. */
  #beneath: unknown;
  #layers: Layer[] = [];
  /** Component that was last notified that it has the focus. */
  #told: unknown;

  constructor(ruler: Ruler, room: Room, changed: () => void) {
    this.#ruler = ruler;
    this.#room = room;
    this.#changed = changed;
  }

  /** Puts `component` on top; the keyboard goes to `focused`, a part of it. */
  show(component: any, wish?: Wish, focused: unknown = component): OverlayHandle {
    if (typeof component?.render !== "function") {
      throw new TypeError("showOverlay: give a component; this has no `render`");
    }
    const wantsKeyboard = !optionsOf(wish).nonCapturing;
    const layer: Layer = { component, wish, focused, isHidden: false, wantsKeyboard };
    this.#layers.push(layer);
    this.#change();
    return this.#handleOf(layer);
  }

  /** Takes the topmost one away. */
  hideTop(): void {
    const top = this.#layers.at(-1);
    if (top) this.#remove(top);
  }

  /** Returns true if an overlay is visible. */
  hasVisible(): boolean {
    return this.#layers.some((layer) => this.#isVisible(layer));
  }

  /** The focused component; notifies the components that gain or lose the focus. */
  get focused(): unknown {
    const layer = this.#turn();
    const next = layer ? layer.focused : this.#beneath;
    if (next !== this.#told) {
      tell(this.#told, false);
      tell(next, true);
      this.#told = next;
    }
    return next;
  }

  /** Moves the focus to `component`, within the focused layer. */
  setFocus(component: unknown): void {
    const layer = this.#turn();
    if (layer) layer.focused = component ?? undefined;
    else this.#beneath = component ?? undefined;
    this.#change();
  }

  /** The component beneath all overlays. */
  settle(component: unknown): void {
    this.#beneath ??= component;
    void this.focused;
  }

  /** The same for a component that is an overlay itself; keeps the focus that it has set so far. */
  settleAbove(component: any, wish: Wish): OverlayHandle {
    const chosen = this.#beneath ?? component;
    this.#beneath = undefined;
    return this.show(component, wish, chosen);
  }

  /** Drops what the components keep of their last drawing. */
  invalidate(): void {
    for (const { component } of this.#layers) component.invalidate?.();
  }

  /** The components that are shown or hidden, but not gone. */
  components(): any[] {
    return this.#layers.map(({ component }) => component);
  }

  /** The lines with everything on top of them that is to be seen. */
  compose(beneath: readonly string[]): string[] {
    const lines = [...beneath];
    // Of what is too high the end is shown.
    const top = Math.max(0, lines.length - this.#room.rows);
    // What `visible` says may have changed with the size.
    void this.focused;
    for (const layer of this.#layers) {
      if (!this.#isVisible(layer)) continue;
      layer.placed = this.#place(layer);
      const { row, column, width, lines: own } = layer.placed;
      own.forEach((text, at) => {
        const line = top + row + at;
        while (lines.length <= line) lines.push("");
        lines[line] = this.#over(lines[line] as string, text, column, width);
      });
    }
    return lines;
  }

  #handleOf(layer: Layer): OverlayHandle {
    const change = (action: () => void) => {
      if (!this.#layers.includes(layer)) return;
      action();
      this.#change();
    };
    return {
      hide: () => this.#remove(layer),
      setHidden: (hidden) =>
        change(() => {
          layer.isHidden = Boolean(hidden);
        }),
      isHidden: () => layer.isHidden,
      focus: () =>
        change(() => {
          this.#layers = [...this.#layers.filter((other) => other !== layer), layer];
          layer.wantsKeyboard = true;
        }),
      unfocus: () =>
        change(() => {
          layer.wantsKeyboard = false;
        }),
      isFocused: () => this.#turn() === layer,
      getBounds: () => {
        const isShown = this.#layers.includes(layer) && this.#isVisible(layer);
        if (!isShown || layer.placed === undefined) return undefined;
        const { row, column, width, lines } = layer.placed;
        return { row, col: column, width, height: lines.length };
      },
    };
  }

  #remove(layer: Layer): void {
    this.#layers = this.#layers.filter((other) => other !== layer);
    this.#change();
  }

  #change(): void {
    void this.focused;
    this.#changed();
  }

  /** The overlay that has the keyboard. */
  #turn(): Layer | undefined {
    return this.#layers.findLast((layer) => layer.wantsKeyboard && this.#isVisible(layer));
  }

  #isVisible(layer: Layer): boolean {
    if (layer.isHidden) return false;
    const { visible } = optionsOf(layer.wish);
    return visible === undefined || Boolean(visible(this.#room.columns, this.#room.rows));
  }

  #place({ component, wish }: Layer): Placed {
    const options = optionsOf(wish);
    const { columns, rows } = this.#room;
    const { top, right, bottom, left } = marginsOf(options.margin);
    const [before, above] = ANCHORS[options.anchor ?? "center"] ?? ANCHORS.center;
    const across = Math.max(1, columns - left - right);
    const wanted = sizeOf(options.width, columns) ?? Math.min(WIDTH, across);
    const width = clamp(Math.max(wanted, whole(options.minWidth) ?? 0), 1, across);
    const down = Math.max(1, rows - top - bottom);
    const most = clamp(sizeOf(options.maxHeight, rows) ?? down, 1, down);
    const lines = Array.from(component.render(width) as readonly string[]).slice(0, most);
    return {
      width,
      lines,
      column: startOf(options.col, before, options.offsetX, left, across - width),
      row: startOf(options.row, above, options.offsetY, top, down - lines.length),
    };
  }

  /** `line` with `text` over the columns from `column` on. */
  #over(line: string, text: string, column: number, width: number): string {
    const { visibleWidth, sliceWithWidth } = this.#ruler;
    const end = column + width;
    const all = visibleWidth(line);
    const before = sliceWithWidth(line, 0, column, true);
    const own = sliceWithWidth(text, 0, width, true);
    const after = all > end ? sliceWithWidth(line, end, all - end) : { text: "", width: 0 };
    // Where an edge goes through a character of two columns, the other one is empty.
    const cut = Math.max(0, all - end - after.width);
    return [
      before.text + " ".repeat(column - before.width),
      own.text + " ".repeat(width - own.width),
      " ".repeat(cut) + after.text,
    ].join("");
  }
}

const NONE: OverlayOptions = {};

function optionsOf(wish: Wish): OverlayOptions {
  return (typeof wish === "function" ? wish() : wish) ?? NONE;
}

function marginsOf(margin: OverlayMargin | number | undefined): Required<OverlayMargin> {
  const side = (value: unknown) => Math.max(0, whole(value) ?? 0);
  if (typeof margin !== "object" || margin === null) {
    const all = side(margin);
    return { top: all, right: all, bottom: all, left: all };
  }
  const { top, right, bottom, left } = margin;
  return { top: side(top), right: side(right), bottom: side(bottom), left: side(left) };
}

/** Returns the start: `at`, or by the anchor, moved by `offset`; with its margin, if there is room. */
function startOf(
  at: SizeValue | undefined,
  anchor: number,
  offset: number | undefined,
  margin: number,
  free: number,
): number {
  const start = whole(at) ?? margin + Math.floor(free * (shareOf(at) ?? anchor));
  return clamp(start + (whole(offset) ?? 0), margin, margin + free);
}

/** A number of columns or rows. */
function sizeOf(size: SizeValue | undefined, all: number): number | undefined {
  const share = shareOf(size);
  return share === undefined ? whole(size) : Math.floor(all * share);
}

const PERCENT = /^\s*(\d+(?:\.\d+)?)\s*%\s*$/;

function shareOf(size: unknown): number | undefined {
  const found = typeof size === "string" ? PERCENT.exec(size) : null;
  return found ? Number(found[1]) / 100 : undefined;
}

function whole(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? Math.floor(value) : undefined;
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(value, most));
}

/** Components that draw a cursor want to know whether they have the keyboard. */
function tell(component: any, hasKeyboard: boolean): void {
  if (typeof component === "object" && component !== null && "focused" in component) {
    component.focused = hasKeyboard;
  }
}
