// JSON as a tree with expandable nodes or as a table, which keep all digits of numbers.

import { Digits } from "./digits.ts";
import { el, quietButton, table } from "./dom.ts";
import { prose } from "./visible.ts";

/** Limit of the entries of one level that are shown before the user expands the rest. */
const AT_ONCE = 200;
/** Number of levels that are expanded at first. */
const OPEN = 2;
/** Length above which a text in the tree is cut until the user expands it. */
const LONG = 2000;

/** Limits of a table: more columns are read better as a tree, and more rows are cut. */
const MOST_COLUMNS = 20;
const MOST_ROWS = 500;

/** Returns a function that creates a table of a list of objects; null for other values. */
export function asTable(value: unknown): (() => HTMLElement) | null {
  const isRow = (one: unknown) => isGroup(one) && !Array.isArray(one);
  if (!Array.isArray(value) || value.length < 2 || !value.every(isRow)) return null;
  const rows = value as { [key: string]: unknown }[];
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (columns.length === 0 || columns.length > MOST_COLUMNS) return null;
  return () => {
    const head = columns.map((key) => el("th", { scope: "col", named: key }));
    const cells = rows
      .slice(0, MOST_ROWS)
      .map((row) => columns.map((key) => el("td", Object.hasOwn(row, key) && cell(row[key]))));
    const shown = table(head, cells);
    const rest = rows.length - MOST_ROWS;
    if (rest > 0) shown.append(el("p.calm", `${rest} more rows; the tree has all`));
    return shown;
  };
}

function cell(value: unknown): Node {
  if (typeof value === "string") return el("span", value);
  return isGroup(value) ? node(null, value, OPEN) : leaf(value);
}

/** Creates the tree of a value. */
export function tree(value: unknown): HTMLElement {
  return el("div.tree", node(null, value, 0));
}

function node(key: string | number | null, value: unknown, depth: number): HTMLElement {
  if (!isGroup(value)) return el("div.leaf", label(key), leaf(value));
  const isList = Array.isArray(value);
  const entries: [string | number, unknown][] = isList
    ? value.map((one, index) => [index, one])
    : Object.entries(value as object);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) {
    return el("div.leaf", label(key), el("span.mark", open, close));
  }
  const count = `${entries.length} ${isList ? "item" : "key"}${entries.length === 1 ? "" : "s"}`;
  const details = el(
    "details",
    { open: depth < OPEN },
    el("summary", label(key), el("span.mark", `${open} ${count} ${close}`)),
  );
  let isFilled = false;
  const fillOnce = () => {
    if (isFilled || !details.open) return;
    isFilled = true;
    details.append(children(entries, 0, depth));
  };
  details.addEventListener("toggle", fillOnce);
  fillOnce();
  return details;
}

function children(entries: [string | number, unknown][], from: number, depth: number): HTMLElement {
  const shown = entries.slice(from, from + AT_ONCE);
  const list = el("div.below", ...shown.map(([key, one]) => node(key, one, depth + 1)));
  const rest = entries.length - from - shown.length;
  if (rest > 0) {
    const more = quietButton(`${rest} more`, () => {
      more.replaceWith(...children(entries, from + AT_ONCE, depth).childNodes);
    });
    list.append(more);
  }
  return list;
}

function label(key: string | number | null): HTMLElement | null {
  if (key === null) return null;
  return el("span", { class: typeof key === "number" ? "index" : "key", named: `${key}: ` });
}

function leaf(value: unknown): HTMLElement {
  if (value instanceof Digits) return el("span.number", value.source);
  if (typeof value === "string") return textLeaf(value);
  if (typeof value === "number") return el("span.number", String(value));
  return el("span.word", String(value));
}

function textLeaf(value: string): HTMLElement {
  const shown = el("span.string", JSON.stringify(value.slice(0, LONG)));
  if (value.length <= LONG) return shown;
  const more = quietButton(`${value.length - LONG} more`, () => {
    shown.textContent = prose(JSON.stringify(value));
    more.remove();
  });
  return el("span", shown, " ", more);
}

function isGroup(value: unknown): boolean {
  return typeof value === "object" && value !== null && !(value instanceof Digits);
}
