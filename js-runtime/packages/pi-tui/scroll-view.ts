// A window of fixed height over lines, with a scroll bar at its right edge if there are more.
//
// It keeps only the position of the window: the caller wraps the lines to the width.

import { type KeyId, matchesKey } from "@earendil-works/pi-tui/dist/keys.js";

import type { Component, Style } from "./component.ts";
import { spaces } from "./component.ts";
import { replaceTabs, visibleWidth } from "./width.ts";
import { truncateToWidth } from "./wrap.ts";

export interface ScrollViewOptions {
  height: number;
  /** `auto`, the default, shows the bar where the lines do not fit. */
  scrollbar?: "auto" | "always" | "never" | boolean;
  /** Number of all rows, if `lines` contains only those in the window. */
  totalRows?: number | undefined;
  theme?: { track?: Style; thumb?: Style };
  trackChar?: string;
  thumbChar?: string;
  /** So many lines one press of shift and an arrow is worth. */
  fastScrollLines?: number;
}

const TRACK = "│";
const THUMB = "█";
const FAST = 5;

export class ScrollView implements Component {
  readonly #options: ScrollViewOptions;
  #lines: readonly string[];
  #height: number;
  #totalRows: number | undefined;
  #offset = 0;

  constructor(lines: readonly string[], options: ScrollViewOptions) {
    this.#options = { ...options };
    this.#lines = [...lines];
    this.#height = whole(options.height);
    this.#totalRows = options.totalRows;
  }

  setLines(lines: readonly string[]): void {
    this.#lines = [...lines];
  }

  setTotalRows(rows: number | undefined): void {
    this.#totalRows = rows;
  }

  setHeight(height: number): void {
    this.#height = whole(height);
  }

  setScrollbar(scrollbar: NonNullable<ScrollViewOptions["scrollbar"]>): void {
    this.#options.scrollbar = scrollbar;
  }

  getScrollOffset(): number {
    return Math.min(this.#offset, this.getMaxScrollOffset());
  }

  getMaxScrollOffset(): number {
    return Math.max(0, this.#rows() - this.#height);
  }

  setScrollOffset(offset: number): void {
    this.#offset = Math.min(whole(offset), this.getMaxScrollOffset());
  }

  /** Moves the window by so many lines, up for negative ones. */
  scroll(lines: number): void {
    this.setScrollOffset(this.getScrollOffset() + (Number.isFinite(lines) ? Math.trunc(lines) : 0));
  }

  /** Moves the window by so many pages; one line of the page before stays. */
  page(pages: number): void {
    this.scroll(pages * Math.max(1, this.#height - 1));
  }

  scrollToTop(): void {
    this.setScrollOffset(0);
  }

  scrollToBottom(): void {
    this.setScrollOffset(this.getMaxScrollOffset());
  }

  /** Does what the key is for; false if it is for something else. */
  handleScrollKey(data: string): boolean {
    const fast = this.#options.fastScrollLines ?? FAST;
    const moves: [KeyId, () => void][] = [
      ["up", () => this.scroll(-1)],
      ["down", () => this.scroll(1)],
      ["shift+up", () => this.scroll(-fast)],
      ["shift+down", () => this.scroll(fast)],
      ["pageUp", () => this.page(-1)],
      ["pageDown", () => this.page(1)],
      ["home", () => this.scrollToTop()],
      ["end", () => this.scrollToBottom()],
    ];
    const move = moves.find(([key]) => matchesKey(data, key));
    move?.[1]();
    return move !== undefined;
  }

  handleInput(data: string): void {
    this.handleScrollKey(data);
  }

  invalidate(): void {}

  render(width: number): string[] {
    const hasBar = width > 0 && this.#hasBar();
    const room = Math.max(0, width - (hasBar ? 1 : 0));
    const first = this.#totalRows === undefined ? this.getScrollOffset() : 0;
    return Array.from({ length: this.#height }, (_, row) => {
      const line = truncateToWidth(replaceTabs(this.#lines[first + row] ?? ""), room);
      if (!hasBar) return line;
      return line + spaces(Math.max(0, room - visibleWidth(line))) + this.#bar(row);
    });
  }

  #rows(): number {
    return this.#totalRows ?? this.#lines.length;
  }

  #hasBar(): boolean {
    const { scrollbar = "auto" } = this.#options;
    if (scrollbar === "never" || scrollbar === false) return false;
    return scrollbar === "always" || this.#rows() > this.#height;
  }

  #bar(row: number): string {
    const { theme, trackChar = TRACK, thumbChar = THUMB } = this.#options;
    const rows = Math.max(this.#rows(), this.#height);
    const size = Math.max(1, Math.floor((this.#height * this.#height) / rows));
    const most = this.getMaxScrollOffset();
    const travel = this.#height - size;
    const start = most === 0 ? 0 : Math.round((this.getScrollOffset() / most) * travel);
    const plain: Style = (text) => text;
    if (row >= start && row < start + size) return (theme?.thumb ?? plain)(thumbChar);
    return (theme?.track ?? plain)(trackChar);
  }
}

function whole(count: number): number {
  return Number.isFinite(count) ? Math.max(0, Math.trunc(count)) : 0;
}
