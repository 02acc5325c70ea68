// A list of choices with one selected, filtered by what was typed, scrolled to stay in view.
//
// Knows keys, not terminals: the component with the focus passes the keys on.

import type { Component, Style } from "./component.ts";
import { matchesKey } from "./keys.ts";
import { visibleWidth } from "./width.ts";
import { truncateToWidth } from "./wrap.ts";

export interface SelectItem {
  value: string;
  label?: string;
  description?: string;
}

export interface SelectListTheme {
  selectedPrefix: Style;
  selectedText: Style;
  description: Style;
  scrollInfo: Style;
  noMatch: Style;
}

const PREFIX = "→ ";
const LABEL_COLUMNS = 32;

/** Choices below each other. */
export class SelectList implements Component {
  onSelect?: (item: SelectItem) => void;
  onCancel?: () => void;
  onSelectionChange?: (item: SelectItem) => void;

  readonly #items: SelectItem[];
  readonly #maxVisible: number;
  readonly #theme: SelectListTheme;
  #shown: SelectItem[];
  #selected = 0;

  constructor(items: SelectItem[], maxVisible: number, theme: SelectListTheme) {
    this.#items = items;
    this.#shown = items;
    this.#maxVisible = Math.max(1, maxVisible);
    this.#theme = theme;
  }

  setFilter(filter: string): void {
    const wanted = filter.toLowerCase();
    this.#shown = this.#items.filter((item) => labelOf(item).toLowerCase().includes(wanted));
    this.#selected = 0;
  }

  setSelectedIndex(index: number): void {
    this.#selected = Math.max(0, Math.min(index, this.#shown.length - 1));
  }

  getSelectedItem(): SelectItem | null {
    return this.#shown[this.#selected] ?? null;
  }

  invalidate(): void {}

  render(width: number): string[] {
    if (width < 1) return [];
    if (this.#shown.length === 0) {
      return [this.#theme.noMatch(truncateToWidth("  No matching items", width))];
    }
    const rows = Math.min(this.#maxVisible, this.#shown.length);
    const middle = this.#selected - Math.floor(rows / 2);
    const first = Math.max(0, Math.min(middle, this.#shown.length - rows));
    const lines = this.#shown
      .slice(first, first + rows)
      .map((item, at) => this.#row(item, first + at === this.#selected, width));
    if (rows < this.#shown.length) {
      const position = `  (${this.#selected + 1}/${this.#shown.length})`;
      lines.push(this.#theme.scrollInfo(truncateToWidth(position, width)));
    }
    return lines;
  }

  handleInput(data: string): void {
    const item = this.getSelectedItem();
    if (matchesKey(data, "up")) this.#move(-1);
    else if (matchesKey(data, "down")) this.#move(1);
    else if (matchesKey(data, "enter") && item) this.onSelect?.(item);
    else if (matchesKey(data, "escape") || matchesKey(data, "ctrl+c")) this.onCancel?.();
  }

  #move(by: number): void {
    const count = this.#shown.length;
    if (count === 0) return;
    this.#selected = (this.#selected + by + count) % count;
    this.onSelectionChange?.(this.#shown[this.#selected] as SelectItem);
  }

  #row(item: SelectItem, selected: boolean, width: number): string {
    const prefix = truncateToWidth(selected ? PREFIX : "  ", width, "");
    const room = width - prefix.length;
    const columns = item.description ? Math.min(room, LABEL_COLUMNS) : room;
    const label = truncateToWidth(labelOf(item), columns);
    const gap = " ".repeat(Math.max(2, LABEL_COLUMNS + 2 - visibleWidth(label)));
    const free = room - visibleWidth(label) - gap.length;
    const about = free > 4 ? truncateToWidth(firstLine(item.description ?? ""), free) : "";
    const rest = about && gap + about;
    return selected
      ? this.#theme.selectedPrefix(prefix) + this.#theme.selectedText(label + rest)
      : prefix + label + (rest && this.#theme.description(rest));
  }
}

function labelOf(item: SelectItem): string {
  return firstLine(item.label || item.value);
}

function firstLine(text: string): string {
  return text.split(/\r?\n/, 1)[0] ?? "";
}
