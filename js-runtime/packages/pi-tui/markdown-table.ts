// Tables of Markdown, with borders.
//
// Columns are as wide as their content; where the screen is too narrow, the widest ones give way
// first and their cells wrap. Below three columns per cell the source text is shown instead.

import { spaces } from "./component.ts";
import type { Ink, Pen } from "./markdown-ink.ts";
import { type Definitions, inlineSpan } from "./markdown-inline.ts";
import { indentOf, interrupts, isBlank } from "./markdown-lines.ts";
import { visibleWidth } from "./width.ts";
import { type Lines, type Span, wrapInto, wrapTextWithAnsi } from "./wrap.ts";

const NARROWEST = 3;

type Side = "left" | "center" | "right" | undefined;

/** A table in the source. */
export interface Table {
  head: string[];
  rows: string[][];
  sides: Side[];
  source: string[];
  /** The line behind it. */
  end: number;
}

/** The table that begins at `at`: a row, then a row of dashes with as many cells. */
export function tableAt(written: string[], at: number): Table | undefined {
  const rule = written[at + 1];
  // Most lines are not followed by such a rule, as its first character shows.
  if (rule === undefined || !isRuleOfTable(rule) || !(written[at] as string).includes("|")) {
    return undefined;
  }
  const head = cellsOf(written[at] as string);
  const dashes = cellsOf(rule);
  if (head.length !== dashes.length || !dashes.every((cell) => /^:?-+:?$/.test(cell))) {
    return undefined;
  }
  const rows: string[][] = [];
  let end = at + 2;
  for (; end < written.length; end++) {
    const line = written[end] as string;
    if (isBlank(line) || interrupts(line)) break;
    const cells = cellsOf(line);
    rows.push(head.map((_, column) => cells[column] ?? ""));
  }
  return { head, rows, sides: dashes.map(sideOf), source: written.slice(at, end), end };
}

/** A first look: dashes, bars and colons, and nothing else. */
function isRuleOfTable(line: string): boolean {
  if (indentOf(line) > 3) return false;
  let hasBar = false;
  for (let at = 0; at < line.length; at++) {
    const code = line.charCodeAt(at);
    if (code === 0x7c || code === 0x3a) hasBar = true;
    else if (code !== 0x2d && code !== 0x20) return false;
  }
  return hasBar;
}

function cellsOf(line: string): string[] {
  const text = line.trim();
  const from = text.startsWith("|") ? 1 : 0;
  const end = text.length > from && text.endsWith("|") && !text.endsWith("\\|") ? -1 : undefined;
  if (text.includes("\\|")) {
    const cells = text.slice(from, end).split(/(?<!\\)\|/);
    return cells.map((cell) => cell.trim().replaceAll("\\|", "|"));
  }
  const cells: string[] = [];
  const last = end === undefined ? text.length : text.length - 1;
  for (let begin = from; ; ) {
    const bar = text.indexOf("|", begin);
    const isLast = bar < 0 || bar >= last;
    cells.push(trimmed(text, begin, isLast ? last : bar));
    if (isLast) return cells;
    begin = bar + 1;
  }
}

/** The text between `from` and `end` without the spaces around it. */
function trimmed(text: string, from: number, end: number): string {
  while (from < end && text.charCodeAt(from) === 0x20) from++;
  while (end > from && text.charCodeAt(end - 1) === 0x20) end--;
  return text.slice(from, end).trim();
}

function sideOf(dashes: string): Side {
  const right = dashes.endsWith(":");
  if (dashes.startsWith(":")) return right ? "center" : "left";
  return right ? "right" : undefined;
}

/** Draws a table, no line wider than `width`. */
export function drawTable(
  table: Table,
  width: number,
  ink: Ink,
  base: Pen,
  definitions: Definitions,
  lines: Lines,
): void {
  const cell = (text: string) => inlineSpan(text, ink, base, definitions);
  const head = table.head.map((text) => {
    const { text: styled, width } = cell(text);
    return measured(ink.pens.bold.span(styled, width));
  });
  const rows = table.rows.map((row) => row.map((text) => measured(cell(text))));
  const widths = columnWidths([head, ...rows], width);
  if (!widths) return wrapInto(lines, base.style(table.source.join("\n")), width);

  const whole = widths.reduce((sum, column) => sum + column + 3, 1);
  const dashes = widths.map((column) => "─".repeat(column + 2));
  const rule = (left: string, middle: string, right: string) => {
    lines.push(left + dashes.join(middle) + right, whole);
  };
  const draw = (cells: Span[]) => {
    for (const line of rowLines(cells, widths, table.sides)) lines.push(line, whole);
  };
  rule("┌", "┬", "┐");
  draw(head);
  rule("├", "┼", "┤");
  for (const row of rows) draw(row);
  rule("└", "┴", "┘");
}

function measured(span: Span): Span {
  return span.width < 0 ? { text: span.text, width: visibleWidth(span.text) } : span;
}

function columnWidths(rows: Span[][], width: number): number[] | undefined {
  const count = rows[0]?.length ?? 0;
  const widths: number[] = new Array(count).fill(NARROWEST);
  for (const row of rows) {
    for (let column = 0; column < count; column++) {
      const columns = row[column]?.width ?? 0;
      if (columns > (widths[column] as number)) widths[column] = columns;
    }
  }
  const room = width - (3 * count + 1);
  if (room < NARROWEST * count) return undefined;
  narrow(widths, room);
  return widths;
}

/** Takes columns from the widest until they fit. */
function narrow(widths: number[], room: number): void {
  let excess = widths.reduce((sum, column) => sum + column, 0) - room;
  while (excess > 0) {
    const widest = Math.max(...widths);
    const next = Math.max(NARROWEST, ...widths.filter((column) => column < widest));
    const tied = widths.filter((column) => column === widest).length;
    const each = Math.min(widest - next, Math.floor(excess / tied));
    for (let column = 0; column < widths.length && excess > 0; column++) {
      if (widths[column] !== widest) continue;
      const taken = Math.max(1, each);
      widths[column] = widest - taken;
      excess -= taken;
    }
  }
}

function rowLines(cells: Span[], widths: number[], sides: Side[]): string[] {
  if (cells.every(({ width }, index) => width <= (widths[index] as number))) {
    let line = "│";
    for (let index = 0; index < widths.length; index++) {
      const { text, width } = cells[index] as Span;
      const free = (widths[index] as number) - width;
      const left = leftOf(free, sides[index]);
      line += spaces(left + 1) + text + spaces(free - left + 1);
      line += "│";
    }
    return [line];
  }
  const wrapped = widths.map((column, index) =>
    wrapTextWithAnsi((cells[index] as Span).text, column),
  );
  const height = Math.max(...wrapped.map((lines) => lines.length));
  return Array.from({ length: height }, (_, at) => {
    const line = widths.map((column, index) =>
      place(wrapped[index]?.[at] ?? "", column, sides[index]),
    );
    return `│ ${line.join(" │ ")} │`;
  });
}

function place(text: string, width: number, side: Side): string {
  return aside(text, Math.max(0, width - visibleWidth(text)), side);
}

function aside(text: string, free: number, side: Side): string {
  const left = leftOf(free, side);
  return spaces(left) + text + spaces(free - left);
}

/** Number of free columns before the text. */
function leftOf(free: number, side: Side): number {
  return side === "right" ? free : side === "center" ? Math.floor(free / 2) : 0;
}
