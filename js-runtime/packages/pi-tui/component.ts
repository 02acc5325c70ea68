// What every component is, and how a line gets its margins and its background.
//
// A component turns a width into lines and keeps nothing of the terminal. Components that can have
// the keyboard also have `handleInput`.

import { visibleWidth } from "./width.ts";

/** A piece of the screen. */
export interface Component {
  /** The lines at `width` columns. None is wider. */
  render(width: number): string[];
  /** Drops what was kept from the last `render`. */
  invalidate?(): void;
  /** One key press or paste, as the terminal sent it. */
  handleInput?(data: string): void;
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

/** `lines` with margins around them, filled up to `width`, on a background if there is one. */
export function frame(
  lines: string[],
  width: number,
  padX: number,
  padY: number,
  background?: Style,
): string[] {
  const margin = " ".repeat(padX);
  const empty = Array.from({ length: Math.max(0, padY) }, () => fill("", width, background));
  return [...empty, ...lines.map((line) => fill(margin + line, width, background)), ...empty];
}

function fill(line: string, width: number, background?: Style): string {
  const full = line + " ".repeat(Math.max(0, width - visibleWidth(line)));
  return background ? paint(full, background) : full;
}

/** A reset inside of the line would end the background too, so it is turned on again after it. */
function paint(line: string, background: Style): string {
  const [opening = ""] = background("\0").split("\0");
  const kept = line.replace(
    /\x1b\[(?:0*|[\d;:]*;0*|(?:[\d;:]*;)?49)m/g,
    (reset) => reset + opening,
  );
  return background(kept);
}
