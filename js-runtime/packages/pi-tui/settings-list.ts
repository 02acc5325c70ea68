// Settings below each other: names on the left, values on the right, one selected.

import type { Component, Style } from "./component.ts";
import { fuzzyFilter } from "./fuzzy.ts";
import { Input } from "./input.ts";
import { matchesKey } from "./keys.ts";
import { visibleWidth } from "./width.ts";
import { truncateToWidth, wrapTextWithAnsi } from "./wrap.ts";

export interface SettingItem {
  id: string;
  label: string;
  description?: string;
  currentValue: string;
  /** Enter and space go from one to the next. */
  values?: string[];
  /** Enter opens it. */
  submenu?: (currentValue: string, done: (value?: string) => void) => Component;
}

export interface SettingsListTheme {
  label: (text: string, selected: boolean) => string;
  value: (text: string, selected: boolean) => string;
  description: Style;
  cursor: string;
  hint: Style;
}

export interface SettingsListOptions {
  enableSearch?: boolean;
}

/** A list of settings. */
export class SettingsList implements Component {
  readonly #items: SettingItem[];
  readonly #maxVisible: number;
  readonly #theme: SettingsListTheme;
  readonly #onChange: (id: string, value: string) => void;
  readonly #onCancel: () => void;
  readonly #search: Input | undefined;
  #shown: SettingItem[];
  #selected = 0;
  #submenu: Component | undefined;

  constructor(
    items: SettingItem[],
    maxVisible: number,
    theme: SettingsListTheme,
    onChange: (id: string, value: string) => void,
    onCancel: () => void,
    options: SettingsListOptions = {},
  ) {
    this.#items = items;
    this.#shown = items;
    this.#maxVisible = Math.max(1, maxVisible);
    this.#theme = theme;
    this.#onChange = onChange;
    this.#onCancel = onCancel;
    this.#search = options.enableSearch ? new Input() : undefined;
  }

  updateValue(id: string, value: string): void {
    const item = this.#items.find((one) => one.id === id);
    if (item) item.currentValue = value;
  }

  invalidate(): void {
    this.#submenu?.invalidate?.();
  }

  render(width: number): string[] {
    if (width < 1) return [];
    if (this.#submenu) return [...this.#submenu.render(width)];
    const lines = this.#search ? [...this.#search.render(width), ""] : [];
    const rows = Math.min(this.#maxVisible, this.#shown.length);
    const middle = this.#selected - Math.floor(rows / 2);
    const first = Math.max(0, Math.min(middle, this.#shown.length - rows));
    const labels = this.#shown.map((item) => visibleWidth(item.label));
    const column = Math.min(30, Math.max(0, ...labels));
    this.#shown.slice(first, first + rows).forEach((item, at) => {
      lines.push(this.#row(item, first + at === this.#selected, column, width));
    });
    const hint = (text: string) => this.#theme.hint(truncateToWidth(text, width));
    if (rows === 0) lines.push(hint("  No matching settings"));
    if (rows < this.#shown.length) {
      lines.push(hint(`  (${this.#selected + 1}/${this.#shown.length})`));
    }
    const about = this.#shown[this.#selected]?.description;
    if (about) {
      const text = wrapTextWithAnsi(about, Math.max(1, width - 2));
      const indent = width > 2 ? "  " : "";
      lines.push("", ...text.map((line) => this.#theme.description(indent + line)));
    }
    lines.push("", hint("  Enter/Space to change · Esc to cancel"));
    return lines;
  }

  handleInput(data: string): void {
    if (this.#submenu) return this.#submenu.handleInput?.(data);
    const count = this.#shown.length;
    const move = (by: number) => {
      if (count > 0) this.#selected = (this.#selected + by + count) % count;
    };
    if (matchesKey(data, "up")) move(-1);
    else if (matchesKey(data, "down")) move(1);
    else if (matchesKey(data, "escape") || matchesKey(data, "ctrl+c")) this.#onCancel();
    else if (matchesKey(data, "enter") || (matchesKey(data, "space") && !this.#search)) {
      this.#activate();
    } else if (this.#search) {
      this.#search.handleInput(data);
      this.#shown = fuzzyFilter(this.#items, this.#search.getValue(), (item) => item.label);
      this.#selected = 0;
    }
  }

  #activate(): void {
    const item = this.#shown[this.#selected];
    if (item?.submenu) {
      this.#submenu = item.submenu(item.currentValue, (value) => {
        this.#submenu = undefined;
        if (value !== undefined) this.#change(item, value);
      });
    } else if (item?.values && item.values.length > 0) {
      const next = (item.values.indexOf(item.currentValue) + 1) % item.values.length;
      this.#change(item, item.values[next] as string);
    }
  }

  #change(item: SettingItem, value: string): void {
    item.currentValue = value;
    this.#onChange(item.id, value);
  }

  #row(item: SettingItem, selected: boolean, column: number, width: number): string {
    const cursor = selected ? this.#theme.cursor : "  ";
    const label = truncateToWidth(item.label, column, "…", true);
    const room = width - visibleWidth(cursor) - column - 2;
    const value = truncateToWidth(item.currentValue, Math.max(0, room), "");
    const row = `${cursor}${this.#theme.label(label, selected)}  ${this.#theme.value(value, selected)}`;
    return truncateToWidth(row, width, "");
  }
}
