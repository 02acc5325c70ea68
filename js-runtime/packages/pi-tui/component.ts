// What every component is, and how a line gets its margins and its background.
//
// A component turns a width into lines and keeps nothing of the terminal. Components that can have
// the keyboard also have `handleInput`.

import { visibleWidth } from "./width.ts";
import type { Lines } from "./wrap.ts";

/** A piece of the screen. */
export interface Component {
  /** The lines at `width` columns. None is wider. */
  render(width: number): readonly string[];
  /** Drops what was kept from the last `render`. */
  invalidate?(): void;
  /** One key press or paste, as the terminal sent it. */
  handleInput?(data: string): void;
  /** Key releases are wanted, too. */
  wantsKeyRelease?: boolean;
  setIgnoreTight?(ignore: boolean): unknown;
  /** It is not drawn any more. */
  dispose?(): void;
}

/** A component that can have the keyboard. */
export interface Focusable {
  focused: boolean;
}

export function isFocusable(component: unknown): component is Component & Focusable {
  return typeof component === "object" && component !== null && "focused" in component;
}

/** Marks the cursor of a focused component; terminals do not show it. */
export const CURSOR_MARKER = "\x1b_pi:c\x07";

/** The mark before what is under the cursor. */
export function cursorMark(focused: boolean): string {
  return focused ? CURSOR_MARKER : "";
}

/** Adds a style to a text, as the functions of a theme do. */
export type Style = (text: string) => string;

/** Components below each other. */
export class Container implements Component {
  children: Component[] = [];

  addChild(component: Component): void {
    this.children.push(component);
  }

  removeChild(component: Component): void {
    this.children = this.children.filter((child) => child !== component);
  }

  clear(): void {
    this.children = [];
  }

  invalidate(): void {
    for (const child of this.children) child.invalidate?.();
  }

  render(width: number): string[] {
    return this.children.flatMap((child) => [...child.render(width)]);
  }
}

/** Empty lines. */
export class Spacer implements Component {
  #lines: number;

  constructor(lines = 1) {
    this.#lines = lines;
  }

  setLines(lines: number): void {
    this.#lines = lines;
  }

  invalidate(): void {}

  render(_width: number): string[] {
    return Array.from({ length: Math.max(0, this.#lines) }, () => "");
  }
}

/** A margin that leaves at least one column for the content, if there is one. */
export function fittingPadding(padding: number, width: number): number {
  return Math.max(0, Math.min(padding, Math.floor((width - 1) / 2)));
}

/** Lines with margins around them, filled up to `width`, on a background if there is one. */
export function frame(
  { texts, widths }: Pick<Lines, "texts" | "widths">,
  width: number,
  padX: number,
  padY: number,
  background?: Style,
): string[] {
  const margin = " ".repeat(padX);
  const framed: string[] = [];
  const room = width - padX;
  const add = (line: string, used: number) => {
    const full = used < room ? margin + line + spaces(room - used) : margin + line;
    framed.push(background ? paint(full, background) : full);
  };
  for (let count = 0; count < padY; count++) add("", 0);
  for (let at = 0; at < texts.length; at++) add(texts[at] as string, widths[at] as number);
  for (let count = 0; count < padY; count++) add("", 0);
  return framed;
}

/** Lines of other components, to frame them. */
export function measured(texts: string[]): Pick<Lines, "texts" | "widths"> {
  return { texts, widths: texts.map(visibleWidth) };
}

const fillers: string[] = [];

/** So many spaces. */
export function spaces(count: number): string {
  return (fillers[count] ??= " ".repeat(count));
}

/** A reset inside of the line would end the background too, so it is turned on again after it. */
function paint(line: string, background: Style): string {
  if (!line.includes("\x1b")) return background(line);
  const [opening = ""] = background("\0").split("\0");
  const kept = line.replace(
    /\x1b\[(?:0*|[\d;:]*;0*|(?:[\d;:]*;)?49)m/g,
    (reset) => reset + opening,
  );
  return background(kept);
}

/** A line filled up to `width` on a background. */
export function applyBackgroundToLine(line: string, width: number, background: Style): string {
  return paint(line + spaces(Math.max(0, width - visibleWidth(line))), background);
}
