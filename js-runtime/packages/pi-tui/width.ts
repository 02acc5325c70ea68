// How many terminal columns a text takes.
//
// Escape sequences take none, most of East Asia takes two, an emoji sequence takes two however many
// code points it has, and a tab takes three here, because components draw it as three spaces.

import { eastAsianWidth } from "get-east-asian-width";

import { ESCAPE, nextEscape } from "./escape.ts";

/** What components draw for a tab. */
export const TAB = "   ";

const PLAIN = /^[\x20-\x7e]*$/;
const EMOJI = /^\p{RGI_Emoji}$/v;
const INVISIBLE =
  /^[\p{Default_Ignorable_Code_Point}\p{Control}\p{Mark}\p{Surrogate}\p{Format}]+$/v;
const INVISIBLE_START =
  /^[\p{Default_Ignorable_Code_Point}\p{Control}\p{Format}\p{Mark}\p{Surrogate}]+/v;

// Made at first use: an object of Intl cannot be in a V8 snapshot.
let segmenter: Intl.Segmenter | undefined;

/** The characters of a text as a reader counts them. Escape sequences must be gone. */
export function graphemes(text: string): string[] {
  if (PLAIN.test(text)) return [...text];
  segmenter ??= new Intl.Segmenter();
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** The columns of one grapheme. */
export function graphemeWidth(grapheme: string): number {
  if (grapheme === "\t") return TAB.length;
  if (grapheme.length === 1 && PLAIN.test(grapheme)) return 1;
  if (INVISIBLE.test(grapheme)) return 0;
  if (EMOJI.test(grapheme)) return 2;
  const visible = grapheme.replace(INVISIBLE_START, "");
  // A base in text style with the emoji selector (U+FE0F) is drawn as an emoji.
  if (visible.includes("\ufe0f") && visible.length > 1) return 2;
  return eastAsianWidth(visible.codePointAt(0) ?? 0);
}

/** The columns of a text that may hold escape sequences. */
export function visibleWidth(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const grapheme of graphemes(stripEscapes(text))) width += graphemeWidth(grapheme);
  return width;
}

/** The text without escape sequences. */
export function stripEscapes(text: string): string {
  if (!text.includes(ESCAPE)) return text;
  let plain = "";
  for (let at = 0; at < text.length; ) {
    const start = text.indexOf(ESCAPE, at);
    if (start < 0) return plain + text.slice(at);
    plain += text.slice(at, start);
    at = start + nextEscape(text, start).length;
  }
  return plain;
}
