// What the published components use for widths and lines, in place of their own `utils.js`.
//
// Ours counts columns as the host does, closes at the end of a line what is on, and takes a tenth of
// the time. What only editing needs is theirs.

import { graphemes } from "./width.ts";

export {
  autocompleteBoundaryRegex,
  autocompleteSeparatorRegex,
  cjkBreakRegex,
  isWhitespaceChar,
  PUNCTUATION_REGEX,
} from "@earendil-works/pi-tui/dist/utils.js";
export { visibleWidth } from "./width.ts";
export { sliceByColumn, truncateToWidth, wrapTextWithAnsi } from "./wrap.ts";

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
