// Several lines of text to edit, between two borders.
//
// Lines are kept as graphemes, so that the cursor never stands inside of an emoji. Enter submits,
// shift or alt and Enter, or a backslash before it, make a new line.

import { type Component, cursorMark, type Style } from "./component.ts";
import { keyName } from "./keys.ts";
import type { SelectListTheme } from "./select-list.ts";
import { graphemes, graphemeWidth, stripEscapes, TAB, visibleWidth } from "./width.ts";

export interface EditorTheme {
  borderColor: Style;
  selectList?: SelectListTheme;
}

export interface EditorOptions {
  paddingX?: number;
  autocompleteMaxVisible?: number;
}

interface Snapshot {
  lines: string[][];
  row: number;
  column: number;
}

const PASTE = /^\x1b\[200~([\s\S]*?)(?:\x1b\[201~)?$/;
const MOST_UNDO = 200;

/** A text editor. The first argument of pi's, the screen around it, may be left out as in omp. */
export class Editor implements Component {
  onSubmit?: (text: string) => void;
  onChange?: (text: string) => void;
  disableSubmit = false;
  focused = false;
  borderColor: Style;

  #lines: string[][] = [[]];
  #row = 0;
  #column = 0;
  #paddingX: number;
  #autocompleteMaxVisible: number;
  #history: string[] = [];
  #shown = -1;
  #draft = "";
  #undo: Snapshot[] = [];

  constructor(first: unknown, second?: unknown, third?: EditorOptions) {
    const isTheme = typeof (first as EditorTheme)?.borderColor === "function";
    const theme = (isTheme ? first : second) as EditorTheme | undefined;
    const options = (isTheme ? (second as EditorOptions) : third) ?? {};
    this.borderColor = theme?.borderColor ?? ((text) => text);
    this.#paddingX = options.paddingX ?? 0;
    this.#autocompleteMaxVisible = options.autocompleteMaxVisible ?? 5;
  }

  getText(): string {
    return this.getLines().join("\n");
  }

  getExpandedText(): string {
    return this.getText();
  }

  getLines(): string[] {
    return this.#lines.map((line) => line.join(""));
  }

  getCursor(): { line: number; col: number } {
    const before = this.#current().slice(0, this.#column);
    return { line: this.#row, col: before.join("").length };
  }

  setText(text: string): void {
    this.#remember();
    this.#replace(text);
    this.#shown = -1;
  }

  insertTextAtCursor(text: string): void {
    this.#remember();
    this.#insert(text);
    this.#changed();
  }

  addToHistory(text: string): void {
    if (text.trim() !== "" && this.#history[0] !== text) this.#history.unshift(text);
  }

  /** Completions come from the program; here they are not requested. */
  setAutocompleteProvider(_provider: unknown): void {}

  isShowingAutocomplete(): boolean {
    return false;
  }

  getPaddingX(): number {
    return this.#paddingX;
  }

  setPaddingX(paddingX: number): void {
    this.#paddingX = Math.max(0, paddingX);
  }

  getAutocompleteMaxVisible(): number {
    return this.#autocompleteMaxVisible;
  }

  setAutocompleteMaxVisible(count: number): void {
    this.#autocompleteMaxVisible = count;
  }

  invalidate(): void {}

  render(width: number): string[] {
    if (width < 1) return [];
    const border = this.borderColor("─".repeat(width));
    const padding = Math.max(0, Math.min(this.#paddingX, Math.floor((width - 1) / 2)));
    const margin = " ".repeat(padding);
    const room = width - 2 * padding;
    const lines = this.#lines.flatMap((line, row) =>
      rowsOf(line, row === this.#row ? this.#column : -1, room, this.focused),
    );
    const fill = (line: string) =>
      margin + line + " ".repeat(Math.max(0, width - padding - visibleWidth(line)));
    return [border, ...lines.map(fill), border];
  }

  handleInput(data: string): void {
    const pasted = PASTE.exec(data);
    if (pasted) return this.insertTextAtCursor(stripEscapes(pasted[1] ?? ""));
    const key = keyName(data);
    if (key === "enter" && !this.disableSubmit) return this.#submit();
    const action = key === undefined ? undefined : this.#actions[key];
    if (action) action();
    else if (!/\p{Control}/v.test(data)) this.insertTextAtCursor(data);
  }

  readonly #actions: Record<string, () => void> = {
    "shift+enter": () => this.insertTextAtCursor("\n"),
    "alt+enter": () => this.insertTextAtCursor("\n"),
    "ctrl+j": () => this.insertTextAtCursor("\n"),
    enter: () => this.insertTextAtCursor("\n"),
    space: () => this.insertTextAtCursor(" "),
    tab: () => this.insertTextAtCursor(TAB),
    left: () => this.#step(-1),
    right: () => this.#step(1),
    "ctrl+b": () => this.#step(-1),
    "ctrl+f": () => this.#step(1),
    up: () => this.#climb(-1),
    down: () => this.#climb(1),
    home: () => this.#moveTo(this.#row, 0),
    end: () => this.#moveTo(this.#row, Number.POSITIVE_INFINITY),
    "ctrl+a": () => this.#moveTo(this.#row, 0),
    "ctrl+e": () => this.#moveTo(this.#row, Number.POSITIVE_INFINITY),
    "alt+left": () => this.#moveTo(this.#row, this.#wordStart()),
    "ctrl+left": () => this.#moveTo(this.#row, this.#wordStart()),
    "alt+right": () => this.#moveTo(this.#row, this.#wordEnd()),
    "ctrl+right": () => this.#moveTo(this.#row, this.#wordEnd()),
    backspace: () => this.#erase(-1),
    delete: () => this.#erase(1),
    "ctrl+d": () => this.#erase(1),
    "ctrl+w": () => this.#cut(this.#wordStart(), this.#column),
    "alt+backspace": () => this.#cut(this.#wordStart(), this.#column),
    "alt+d": () => this.#cut(this.#column, this.#wordEnd()),
    "ctrl+u": () => this.#cut(0, this.#column),
    "ctrl+k": () => this.#cut(this.#column, this.#current().length),
    "ctrl+-": () => this.#undoOne(),
    "ctrl+_": () => this.#undoOne(),
  };

  #current(): string[] {
    return this.#lines[this.#row] as string[];
  }

  #submit(): void {
    if (this.#current()[this.#column - 1] === "\\") {
      this.#cut(this.#column - 1, this.#column);
      return this.insertTextAtCursor("\n");
    }
    const text = this.getText().trim();
    this.#replace("");
    this.#undo = [];
    this.onSubmit?.(text);
  }

  #replace(text: string): void {
    this.#lines = linesOf(text);
    this.#moveTo(this.#lines.length - 1, Number.POSITIVE_INFINITY);
    this.#changed();
  }

  #insert(text: string): void {
    const [first = [], ...more] = linesOf(text);
    const line = this.#current();
    const rest = line.splice(this.#column);
    line.push(...first);
    this.#column = line.length;
    if (more.length > 0) {
      this.#lines.splice(this.#row + 1, 0, ...more);
      this.#row += more.length;
      this.#column = this.#current().length;
    }
    this.#current().push(...rest);
  }

  #moveTo(row: number, column: number): void {
    this.#row = Math.max(0, Math.min(row, this.#lines.length - 1));
    this.#column = Math.max(0, Math.min(column, this.#current().length));
  }

  #step(by: number): void {
    const column = this.#column + by;
    if (column < 0 && this.#row > 0) this.#moveTo(this.#row - 1, Number.POSITIVE_INFINITY);
    else if (column > this.#current().length && this.#row + 1 < this.#lines.length) {
      this.#moveTo(this.#row + 1, 0);
    } else this.#moveTo(this.#row, column);
  }

  /** Above the first line is what was submitted before. */
  #climb(by: number): void {
    const row = this.#row + by;
    if (row >= 0 && row < this.#lines.length) return this.#moveTo(row, this.#column);
    const shown = this.#shown - by;
    if (shown < -1 || shown >= this.#history.length) return;
    if (this.#shown < 0) this.#draft = this.getText();
    this.#shown = shown;
    this.#replace(shown < 0 ? this.#draft : (this.#history[shown] as string));
  }

  #erase(by: number): void {
    const from = Math.min(this.#column, this.#column + by);
    if (from >= 0 && from < this.#current().length) return this.#cut(from, from + 1);
    const upper = by < 0 ? this.#row - 1 : this.#row;
    const lower = this.#lines[upper + 1];
    if (upper < 0 || !lower) return;
    this.#remember();
    const line = this.#lines[upper] as string[];
    const column = line.length;
    line.push(...lower);
    this.#lines.splice(upper + 1, 1);
    this.#moveTo(upper, column);
    this.#changed();
  }

  #cut(from: number, to: number): void {
    if (from >= to) return;
    this.#remember();
    this.#current().splice(from, to - from);
    this.#column = from;
    this.#changed();
  }

  #wordStart(): number {
    const line = this.#current();
    let at = this.#column;
    while (at > 0 && line[at - 1] === " ") at--;
    while (at > 0 && line[at - 1] !== " ") at--;
    return at;
  }

  #wordEnd(): number {
    const line = this.#current();
    let at = this.#column;
    while (line[at] === " ") at++;
    while (at < line.length && line[at] !== " ") at++;
    return at;
  }

  #changed(): void {
    this.onChange?.(this.getText());
  }

  #remember(): void {
    const lines = this.#lines.map((line) => [...line]);
    this.#undo.push({ lines, row: this.#row, column: this.#column });
    if (this.#undo.length > MOST_UNDO) this.#undo.shift();
  }

  #undoOne(): void {
    const before = this.#undo.pop();
    if (!before) return;
    this.#lines = before.lines;
    this.#moveTo(before.row, before.column);
    this.#changed();
  }
}

function linesOf(text: string): string[][] {
  const lines = String(text)
    .replaceAll("\t", TAB)
    .split(/\r\n|\n|\r/);
  return lines.map((line) => graphemes(line.replace(/\p{Control}/gv, "")));
}

/** The rows of one line on the screen, with the cursor where it is. */
function rowsOf(line: string[], cursor: number, room: number, focused: boolean): string[] {
  const rows: string[] = [];
  let row = "";
  let used = 0;
  const put = (mark: string, width: number, isUnder: boolean) => {
    const fits = width <= room;
    const columns = fits ? width : 1;
    if (used + columns > room) {
      rows.push(row);
      row = "";
      used = 0;
    }
    const shown = fits ? mark : "…";
    row += isUnder ? `${cursorMark(focused)}\x1b[7m${shown}\x1b[27m` : shown;
    used += columns;
  };
  for (const [at, mark] of line.entries()) put(mark, graphemeWidth(mark), at === cursor);
  if (cursor >= line.length) put(" ", 1, true);
  rows.push(row);
  return rows;
}
