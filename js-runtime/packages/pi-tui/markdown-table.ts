// Tables of Markdown, with borders.
//
// Columns are as wide as their content; where the screen is too narrow, the widest ones give way
// first and their cells wrap. Below three columns per cell the source text is shown instead.

import type { Tokens } from "marked";

import type { Style } from "./component.ts";
import type { MarkdownTheme } from "./markdown.ts";
import { inline } from "./markdown-inline.ts";
import { visibleWidth } from "./width.ts";
import { wrapTextWithAnsi } from "./wrap.ts";

const NARROWEST = 3;

/** The lines of a table, none wider than `width`. */
export function drawTable(
  table: Tokens.Table,
  width: number,
  theme: MarkdownTheme,
  base: Style,
): string[] {
  const head = table.header.map((cell) => theme.bold(inline(cell.tokens, theme, base)));
  const rows = table.rows.map((row) => row.map((cell) => inline(cell.tokens, theme, base)));
  const widths = columnWidths([head, ...rows], width);
  if (!widths) return wrapTextWithAnsi(base(table.raw.trimEnd()), width);

  const rule = (left: string, middle: string, right: string) =>
    left + widths.map((column) => "─".repeat(column + 2)).join(middle) + right;
  const draw = (cells: string[]) => drawRow(cells, widths, table.align);
  return [
    rule("┌", "┬", "┐"),
    ...draw(head),
    rule("├", "┼", "┤"),
    ...rows.flatMap(draw),
    rule("└", "┴", "┘"),
  ];
}

function columnWidths(rows: string[][], width: number): number[] | undefined {
  const count = rows[0]?.length ?? 0;
  const widths = Array.from({ length: count }, (_, column) => {
    const lines = rows.flatMap((row) => (row[column] ?? "").split("\n"));
    return Math.max(NARROWEST, ...lines.map(visibleWidth));
  });
  const room = width - (3 * count + 1);
  if (room < NARROWEST * count) return undefined;
  while (sum(widths) > room) {
    const widest = widths.indexOf(Math.max(...widths));
    widths[widest] = (widths[widest] as number) - 1;
  }
  return widths;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

function drawRow(cells: string[], widths: number[], align: Tokens.Table["align"]): string[] {
  const wrapped = widths.map((column, index) => wrapTextWithAnsi(cells[index] ?? "", column));
  const height = Math.max(...wrapped.map((lines) => lines.length));
  return Array.from({ length: height }, (_, at) => {
    const line = widths.map((column, index) =>
      place(wrapped[index]?.[at] ?? "", column, align[index]),
    );
    return `│ ${line.join(" │ ")} │`;
  });
}

function place(
  text: string,
  width: number,
  align: "left" | "center" | "right" | null | undefined,
): string {
  const free = Math.max(0, width - visibleWidth(text));
  const left = align === "right" ? free : align === "center" ? Math.floor(free / 2) : 0;
  return " ".repeat(left) + text + " ".repeat(free - left);
}
