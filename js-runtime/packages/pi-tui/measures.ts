// What the published components use for widths and lines, in place of their own `utils.js`.
//
// Ours counts columns as the host does, closes at the end of a line what is on, and takes a tenth of
// the time. What only editing needs is theirs.

import { getSegmenter } from "./width.ts";

export {
  autocompleteBoundaryRegex,
  autocompleteSeparatorRegex,
  cjkBreakRegex,
  isWhitespaceChar,
  PUNCTUATION_REGEX,
} from "@earendil-works/pi-tui/dist/utils.js";
export { visibleWidth } from "./width.ts";
export { sliceByColumn, truncateToWidth, wrapTextWithAnsi } from "./wrap.ts";

type Segmenter = Pick<Intl.Segmenter, "segment">;

let words: Intl.Segmenter | undefined;

// The components ask while they are evaluated. The first object of Intl in a process takes 20 ms,
// and most tools edit nothing.
const lazyGraphemes: Segmenter = { segment: (text) => getSegmenter().segment(text) };
const lazyWords: Segmenter = {
  segment: (text) =>
    (words ??= new Intl.Segmenter(undefined, { granularity: "word" })).segment(text),
};

export const getGraphemeSegmenter = (): Segmenter => lazyGraphemes;
export const getWordSegmenter = (): Segmenter => lazyWords;
