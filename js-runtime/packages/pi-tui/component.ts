// What every component is, and containers.
//
// A component turns a width into lines and keeps nothing of the terminal. Components that can have
// the keyboard also have `handleInput`.

import { Container as PublishedContainer } from "@earendil-works/pi-tui/dist/tui.js";

import { visibleWidth } from "./width.ts";
import { truncateToWidth } from "./wrap.ts";

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

/** Adds a style to a text, as the functions of a theme do. */
export type Style = (text: string) => string;

/** A published container with children that need not have `invalidate`, as in omp. */
export type Holder<T> = Omit<T, "children" | "addChild" | "removeChild" | "render"> & {
  children: Component[];
  addChild(component: Component): void;
  removeChild(component: Component): void;
  render(width: number): string[];
};

/** Components below each other. */
export const Container = PublishedContainer as unknown as new () => Holder<PublishedContainer>;
export type Container = InstanceType<typeof Container>;

/** Lines of a published component, none wider than `width`: its margins do not give way. */
export function cut(lines: string[], width: number): string[] {
  return lines.some((line) => visibleWidth(line) > width)
    ? lines.map((line) => truncateToWidth(line, width, ""))
    : lines;
}

/** So many spaces. */
export function spaces(count: number): string {
  return " ".repeat(count);
}
