// Differences between two texts, as lines with their numbers, and their colours.

import { theme } from "@oh-my-pi/pi-tui";
import {
  diffArrays,
  FILE_HEADERS_ONLY,
  formatPatch,
  type StructuredPatch,
  structuredPatch,
} from "diff";

interface Change {
  mark: " " | "+" | "-";
  text: string;
  /** The number of the line, in the old text for what went and stayed. */
  line: number;
}

const CONTEXT = 4;

/** The lines that differ, with some around them, and the first one of the new text that does. */
export function generateDiffString(
  before: string,
  after: string,
  contextLines = CONTEXT,
): { diff: string; firstChangedLine: number | undefined } {
  const changes = changesBetween(before.split("\n"), after.split("\n"));
  const isNear = (at: number) =>
    changes
      .slice(Math.max(0, at - contextLines), at + contextLines + 1)
      .some(({ mark }) => mark !== " ");
  const width = String(Math.max(1, ...changes.map(({ line }) => line))).length;
  const lines: string[] = [];
  for (const [at, { mark, text, line }] of changes.entries()) {
    if (isNear(at)) lines.push(`${mark}${String(line).padStart(width)} ${text}`);
    else if (at > 0 && isNear(at - 1)) lines.push(` ${" ".repeat(width)} ...`);
  }
  const first = changes.findIndex(({ mark }) => mark !== " ");
  return { diff: lines.join("\n"), firstChangedLine: first < 0 ? undefined : first + 1 };
}

/** The differences as a patch in the form of `diff -u`. */
export function generateUnifiedPatch(
  path: string,
  before: string,
  after: string,
  contextLines = CONTEXT,
): string {
  const options = { context: contextLines, maxEditLength: MAX_EDITS };
  const patch = structuredPatch(path, path, before, after, undefined, undefined, options);
  return formatPatch(patch ?? replacement(path, before, after), FILE_HEADERS_ONLY);
}

/** More lines than these that come and go are not compared one by one: the time grows with their square. */
const MAX_EDITS = 2000;

/** Returns the patch that replaces all lines. */
function replacement(path: string, before: string, after: string): StructuredPatch {
  const linesOf = (text: string) => text.replace(/\n$/, "").split("\n");
  const [old, fresh] = [linesOf(before), linesOf(after)];
  const lines = [...old.map((line) => `-${line}`), ...fresh.map((line) => `+${line}`)];
  const size = { oldStart: 1, oldLines: old.length, newStart: 1, newLines: fresh.length };
  return { oldFileName: path, newFileName: path, hunks: [{ ...size, lines }] } as StructuredPatch;
}

function changesBetween(before: string[], after: string[]): Change[] {
  const parts = diffArrays(before, after, { maxEditLength: MAX_EDITS }) ?? [
    { removed: true, added: false, value: before },
    { removed: false, added: true, value: after },
  ];
  let [old, fresh] = [1, 1];
  return parts.flatMap(({ removed, added, value }) =>
    value.map((text): Change => {
      if (added) return { mark: "+", text, line: fresh++ };
      if (!removed) fresh += 1;
      return { mark: removed ? "-" : " ", text, line: old++ };
    }),
  );
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
