// What the published components use for widths and lines, in place of their own `utils.js`.
//
// Ours counts columns as the host does, closes at the end of a line what is on, and takes a tenth of
// the time. The rest is theirs.

import type { Style } from "./component.ts";
import { graphemes, visibleWidth } from "./width.ts";

export * from "@earendil-works/pi-tui/dist/utils.js";
export { visibleWidth } from "./width.ts";
export { sliceByColumn, sliceWithWidth, truncateToWidth, wrapTextWithAnsi } from "./wrap.ts";

/** A line filled up to `width` on a background, which is turned on again behind a reset inside of the line. */
export function applyBackgroundToLine(line: string, width: number, background: Style): string {
  const full = line + " ".repeat(Math.max(0, width - visibleWidth(line)));
  if (!full.includes("\x1b")) return background(full);
  const [opening = ""] = background("\0").split("\0");
  const reset = /\x1b\[(?:0*|[\d;:]*;0*|(?:[\d;:]*;)?49)m/g;
  return background(full.replace(reset, (found) => found + opening));
}

type Segmenter = { segment(text: string): Iterable<Intl.SegmentData> };

/** Characters of a text, in a time that grows with its length only: see `graphemes`. */
const characters: Segmenter = {
  segment(text) {
    let end = 0;
    return graphemes(text).map((segment) => {
      end += segment.length;
      return { segment, index: end - segment.length, input: text };
    });
  },
};

let segmenter: Intl.Segmenter | undefined;

// The components ask while they are evaluated. The first object of Intl in a process takes 20 ms,
// and most tools edit nothing.
const words: Segmenter = {
  segment: (text) =>
    (segmenter ??= new Intl.Segmenter(undefined, { granularity: "word" })).segment(text),
};

export const getGraphemeSegmenter = (): Segmenter => characters;
export const getWordSegmenter = (): Segmenter => words;
