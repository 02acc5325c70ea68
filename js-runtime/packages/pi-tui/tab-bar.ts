// A row of tabs, one of which is active: `Label:  One   Two   (tab to cycle)`.

import { matchesKey } from "@earendil-works/pi-tui/dist/keys.js";

import type { Component, Style } from "./component.ts";
import { visibleWidth } from "./width.ts";
import { truncateToWidth } from "./wrap.ts";

export interface Tab {
  id: string;
  label: string;
  /** Shown where the whole labels have no room. */
  short?: string;
  /** Shown, but never active by a key. */
  muted?: boolean;
}

export interface TabBarTheme {
  label: Style;
  activeTab: Style;
  inactiveTab: Style;
  hint: Style;
  mutedTab?: Style;
  hoverTab?: Style;
}

const GAP = "  ";

export class TabBar implements Component {
  onTabChange?: (tab: Tab, index: number) => void;
  showHint = true;
  hintText = "(tab to cycle)";
  readonly #label: string;
  readonly #theme: TabBarTheme;
  #tabs: Tab[];
  #active: number;

  constructor(label: string, tabs: Tab[], theme: TabBarTheme, initialIndex = 0) {
    this.#label = label;
    this.#tabs = tabs;
    this.#theme = theme;
    this.#active = initialIndex;
  }

  getActiveTab(): Tab {
    return this.#tabs[this.#active] as Tab;
  }

  getActiveIndex(): number {
    return this.#active;
  }

  setActiveIndex(index: number): void {
    const next = Math.max(0, Math.min(index, this.#tabs.length - 1));
    if (next === this.#active) return;
    this.#active = next;
    this.onTabChange?.(this.getActiveTab(), next);
  }

  /** Other tabs; the active one stays active if it is among them. */
  setTabs(tabs: Tab[], activeId: string | undefined = this.#tabs[this.#active]?.id): void {
    this.#tabs = tabs;
    if (activeId !== undefined && this.setActiveById(activeId)) return;
    this.#active = Math.max(0, Math.min(this.#active, tabs.length - 1));
  }

  /** Makes a tab active without calling listeners; false if there is none with that id. */
  setActiveById(id: string): boolean {
    const index = this.#tabs.findIndex((tab) => tab.id === id);
    if (index >= 0) this.#active = index;
    return index >= 0;
  }

  selectTab(id: string): boolean {
    const index = this.#tabs.findIndex((tab) => tab.id === id && !tab.muted);
    if (index >= 0) this.setActiveIndex(index);
    return index >= 0;
  }

  nextTab(): void {
    this.#step(1);
  }

  prevTab(): void {
    this.#step(-1);
  }

  /** True if the key was for the tabs. */
  handleInput(data: string): boolean {
    const isNext = matchesKey(data, "tab") || matchesKey(data, "right");
    if (!isNext && !matchesKey(data, "shift+tab") && !matchesKey(data, "left")) return false;
    this.#step(isNext ? 1 : -1);
    return true;
  }

  invalidate(): void {}

  render(width: number): string[] {
    const room = Math.max(1, width);
    const pieces = this.#fitting(room);
    const lines = [""];
    for (const piece of pieces) {
      const line = lines.at(-1) as string;
      if (visibleWidth(line) + visibleWidth(piece) <= room) lines[lines.length - 1] = line + piece;
      else if (piece.trim() !== "") lines.push(truncateToWidth(piece, room));
    }
    return lines[0] === "" && lines.length > 1 ? lines.slice(1) : lines;
  }

  #step(by: 1 | -1): void {
    const count = this.#tabs.length;
    for (let steps = 1; steps <= count; steps++) {
      const index = (this.#active + by * steps + count * steps) % count;
      if (!this.#tabs[index]?.muted) return this.setActiveIndex(index);
    }
  }

  /** The pieces of the row; labels become short, the farthest first, while it is too wide. */
  #fitting(room: number): string[] {
    const labels = this.#tabs.map(({ label }) => label);
    const distance = (index: number) => Math.abs(index - this.#active);
    const shrinkable = this.#tabs
      .map((_, index) => index)
      .filter((index) => index !== this.#active && this.#tabs[index]?.short !== undefined)
      .sort((one, other) => distance(other) - distance(one));
    let pieces = this.#pieces(labels);
    while (visibleWidth(pieces.join("")) > room && shrinkable.length > 0) {
      const index = shrinkable.shift() as number;
      labels[index] = this.#tabs[index]?.short as string;
      pieces = this.#pieces(labels);
    }
    return pieces;
  }

  #pieces(labels: string[]): string[] {
    const { label, activeTab, inactiveTab, mutedTab, hint } = this.#theme;
    const pieces = this.#label === "" ? [] : [label(`${this.#label}:`), GAP];
    for (const [index, tab] of this.#tabs.entries()) {
      const style = tab.muted
        ? (mutedTab ?? inactiveTab)
        : index === this.#active
          ? activeTab
          : inactiveTab;
      if (index > 0) pieces.push(GAP);
      pieces.push(style(` ${labels[index]} `));
    }
    if (this.showHint && this.hintText !== "") pieces.push(GAP, hint(this.hintText));
    return pieces;
  }
}
