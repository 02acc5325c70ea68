// Differences between two texts, as lines with their numbers, and their colours.

import { theme } from "@oh-my-pi/pi-tui";

interface Change {
  mark: " " | "+" | "-";
  text: string;
  /** The number of the line, in the old text for what went and stayed. */
  line: number;
}

const CONTEXT = 4;

/** More pairs of lines than these are not compared one by one. */
const MAX_PAIRS = 4_000_000;

/** The lines that differ, with some around them, and the first one of the new text that does. */
export function generateDiffString(
  before: string,
  after: string,
  contextLines = CONTEXT,
): { diff: string; firstChangedLine: number | undefined } {
  const changes = changesBetween(before.split("\n"), after.split("\n"));
  const near = changes.map((_, at) =>
    changes
      .slice(Math.max(0, at - contextLines), at + contextLines + 1)
      .some(({ mark }) => mark !== " "),
  );
  const width = String(Math.max(1, ...changes.map(({ line }) => line))).length;
  const lines: string[] = [];
  for (const [at, { mark, text, line }] of changes.entries()) {
    if (near[at]) lines.push(`${mark}${String(line).padStart(width)} ${text}`);
    else if (near[at - 1]) lines.push(` ${" ".repeat(width)} ...`);
  }
  return { diff: lines.join("\n"), firstChangedLine: firstChange(changes) };
}

/** The differences as a patch in the form of `diff -u`. */
export function generateUnifiedPatch(
  path: string,
  before: string,
  after: string,
  contextLines = CONTEXT,
): string {
  const changes = changesBetween(before.split("\n"), after.split("\n"));
  const lines = [`--- ${path}`, `+++ ${path}`];
  let [old, fresh] = [1, 1];
  for (let at = 0; at < changes.length; at++) {
    const ahead = changes.slice(at, at + contextLines + 1);
    if (ahead.every(({ mark }) => mark === " ")) {
      old += 1;
      fresh += 1;
      continue;
    }
    const hunk: Change[] = [];
    // A hunk ends where no change follows within twice the context.
    while (changes.slice(at, at + 2 * contextLines + 1).some(({ mark }) => mark !== " ")) {
      hunk.push(changes[at++] as Change);
    }
    hunk.push(...changes.slice(at, at + contextLines));
    at += contextLines - 1;
    const removed = hunk.filter(({ mark }) => mark !== "+").length;
    const added = hunk.filter(({ mark }) => mark !== "-").length;
    lines.push(`@@ -${old},${removed} +${fresh},${added} @@`);
    lines.push(...hunk.map(({ mark, text }) => mark + text));
    old += removed;
    fresh += added;
  }
  return `${lines.join("\n")}\n`;
}

function firstChange(changes: Change[]): number | undefined {
  let line = 1;
  for (const { mark } of changes) {
    if (mark !== " ") return line;
    line += 1;
  }
  return undefined;
}

function changesBetween(before: string[], after: string[]): Change[] {
  let start = 0;
  const shorter = Math.min(before.length, after.length);
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const same = (from: number, to: number): Change[] =>
    before.slice(from, to).map((text, index) => ({ mark: " ", text, line: from + index + 1 }));
  const middle = between(
    before.slice(start, before.length - end),
    after.slice(start, after.length - end),
    start,
  );
  return [...same(0, start), ...middle, ...same(before.length - end, before.length)];
}

/** The longest common lines stay; the rest goes or comes. */
function between(before: string[], after: string[], offset: number): Change[] {
  const old = (at: number, mark: " " | "-"): Change => ({
    mark,
    text: before[at] as string,
    line: offset + at + 1,
  });
  const fresh = (at: number): Change => ({
    mark: "+",
    text: after[at] as string,
    line: offset + at + 1,
  });
  if (before.length * after.length > MAX_PAIRS) {
    return [...before.map((_, at) => old(at, "-")), ...after.map((_, at) => fresh(at))];
  }
  const lengths = Array.from(
    { length: before.length + 1 },
    () => new Uint32Array(after.length + 1),
  );
  const length = (one: number, other: number) => lengths[one]?.[other] ?? 0;
  for (let one = before.length - 1; one >= 0; one--) {
    const row = lengths[one] as Uint32Array;
    for (let other = after.length - 1; other >= 0; other--) {
      row[other] =
        before[one] === after[other]
          ? length(one + 1, other + 1) + 1
          : Math.max(length(one + 1, other), length(one, other + 1));
    }
  }
  const changes: Change[] = [];
  let [one, other] = [0, 0];
  while (one < before.length || other < after.length) {
    if (one < before.length && before[one] === after[other]) {
      changes.push(old(one++, " "));
      other += 1;
    } else if (one < before.length && length(one + 1, other) >= length(one, other + 1)) {
      changes.push(old(one++, "-"));
    } else {
      changes.push(fresh(other++));
    }
  }
  return changes;
}

/** The lines of a diff in the colours of the theme. */
export function renderDiff(diff: string, _options?: { filePath?: string }): string {
  const colors: Record<string, string> = { "+": "toolDiffAdded", "-": "toolDiffRemoved" };
  return diff
    .split("\n")
    .map((line) =>
      theme.fg(colors[line[0] ?? ""] ?? "toolDiffContext", line.replaceAll("\t", "   ")),
    )
    .join("\n");
}
