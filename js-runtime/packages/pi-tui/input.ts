// One line of text to edit, with a cursor, scrolled sideways where it is longer than the screen.
//
// The cursor counts graphemes, so that it never stands inside of an emoji.

import type { Component } from "./component.ts";
import { keyName } from "./keys.ts";
import { graphemes, graphemeWidth, stripEscapes } from "./width.ts";

const PROMPT = "> ";
const PASTE = /^\x1b\[200~([\s\S]*?)(?:\x1b\[201~)?$/;

/** A line editor. */
export class Input implements Component {
  onSubmit?: (value: string) => void;
  onEscape?: () => void;
  focused = false;

  #marks: string[] = [];
  #cursor = 0;

  getValue(): string {
    return this.#marks.join("");
  }

  setValue(value: string): void {
    this.#marks = graphemes(value);
    this.#cursor = Math.min(this.#cursor, this.#marks.length);
  }

  invalidate(): void {}

  handleInput(data: string): void {
    const pasted = PASTE.exec(data);
    if (pasted) return this.#insert(stripEscapes(pasted[1] ?? "").replace(/[\r\n]+/g, " "));
    const key = keyName(data);
    const action = key === undefined ? undefined : this.#actions[key];
    if (action) action();
    else if (!/\p{Control}/v.test(data)) this.#insert(data);
  }

  render(width: number): string[] {
    const room = width - PROMPT.length;
    if (room < 1) return width < 1 ? [] : [PROMPT.slice(0, width)];
    const under = this.#marks[this.#cursor] ?? " ";
    const before = fittingEnd(this.#marks.slice(0, this.#cursor), room - graphemeWidth(under));
    const after = fittingStart(
      this.#marks.slice(this.#cursor + 1),
      room - columns(before) - graphemeWidth(under),
    );
    const used = columns(before) + graphemeWidth(under) + columns(after);
    const filler = " ".repeat(Math.max(0, room - used));
    return [`${PROMPT}${before.join("")}\x1b[7m${under}\x1b[27m${after.join("")}${filler}`];
  }

  readonly #actions: Record<string, () => void> = {
    enter: () => this.onSubmit?.(this.getValue()),
    escape: () => this.onEscape?.(),
    "ctrl+c": () => this.onEscape?.(),
    left: () => this.#moveTo(this.#cursor - 1),
    right: () => this.#moveTo(this.#cursor + 1),
    "ctrl+b": () => this.#moveTo(this.#cursor - 1),
    "ctrl+f": () => this.#moveTo(this.#cursor + 1),
    home: () => this.#moveTo(0),
    end: () => this.#moveTo(this.#marks.length),
    "ctrl+a": () => this.#moveTo(0),
    "ctrl+e": () => this.#moveTo(this.#marks.length),
    "alt+left": () => this.#moveTo(this.#wordStart()),
    "ctrl+left": () => this.#moveTo(this.#wordStart()),
    "alt+right": () => this.#moveTo(this.#wordEnd()),
    "ctrl+right": () => this.#moveTo(this.#wordEnd()),
    backspace: () => this.#cut(this.#cursor - 1, this.#cursor),
    delete: () => this.#cut(this.#cursor, this.#cursor + 1),
    "ctrl+d": () => this.#cut(this.#cursor, this.#cursor + 1),
    "ctrl+w": () => this.#cut(this.#wordStart(), this.#cursor),
    "alt+backspace": () => this.#cut(this.#wordStart(), this.#cursor),
    "ctrl+u": () => this.#cut(0, this.#cursor),
    "ctrl+k": () => this.#cut(this.#cursor, this.#marks.length),
    space: () => this.#insert(" "),
  };

  #insert(text: string): void {
    const added = graphemes(text);
    this.#marks.splice(this.#cursor, 0, ...added);
    this.#cursor += added.length;
  }

  #moveTo(cursor: number): void {
    this.#cursor = Math.max(0, Math.min(cursor, this.#marks.length));
  }

  #cut(from: number, to: number): void {
    const start = Math.max(0, from);
    this.#marks.splice(start, Math.min(to, this.#marks.length) - start);
    this.#moveTo(start);
  }

  #wordStart(): number {
    let at = this.#cursor;
    while (at > 0 && this.#marks[at - 1] === " ") at--;
    while (at > 0 && this.#marks[at - 1] !== " ") at--;
    return at;
  }

  #wordEnd(): number {
    let at = this.#cursor;
    while (this.#marks[at] === " ") at++;
    while (at < this.#marks.length && this.#marks[at] !== " ") at++;
    return at;
  }
}

function columns(marks: string[]): number {
  return marks.reduce((sum, mark) => sum + graphemeWidth(mark), 0);
}

function fittingStart(marks: string[], room: number): string[] {
  let used = 0;
  const end = marks.findIndex((mark) => (used += graphemeWidth(mark)) > room);
  return end < 0 ? marks : marks.slice(0, end);
}

function fittingEnd(marks: string[], room: number): string[] {
  return fittingStart(marks.toReversed(), room).toReversed();
}
