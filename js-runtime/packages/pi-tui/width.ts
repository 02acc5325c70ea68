// How many terminal columns a text takes.
//
// Escape sequences take none, most of East Asia takes two, an emoji sequence takes two however many
// code points it has, and a tab takes three here, because components draw it as three spaces.

import { eastAsianWidth } from "get-east-asian-width";

import { ESCAPE, nextEscape } from "./escape.ts";

/** Text that components draw for a tab. */
export const TAB = "   ";

const COLORS = /\x1b\[[\d;:]*m/g;
const EMOJI = /^\p{Emoji}$/v;
// Parts of a character that add no column: marks above and below it, and what is not drawn at all.
const INVISIBLE =
  /^[[\p{Default_Ignorable_Code_Point}\p{Control}\p{Grapheme_Extend}\p{Surrogate}\p{Format}]--[\u{115f}\u{600}-\u{604}\u{6dd}\u{2d7f}\u{ff9e}\u{ff9f}\u{fff9}-\u{fffb}\u{110bd}\u{110cd}\u{13430}-\u{1343f}]]$/v;
/** Vowels and ends of Korean syllables, which are drawn into the character before them. */
const INSIDE_HANGUL = /^[\u{1160}-\u{11ff}\u{d7b0}-\u{d7c6}\u{d7cb}-\u{d7fb}]$/v;
/** Two letters in one character. */
const KHMER_PAIR = /^[\u{17a4}\u{17d8}]$/v;

// Made at first use: an object of Intl cannot be in a V8 snapshot.
let segmenter: Intl.Segmenter | undefined;

/** Length of a piece for `Intl.Segmenter`, whose time grows with the square of the length. */
const CHUNK = 512;

/** The characters of a text as a reader counts them. Escape sequences must be gone. */
export function graphemes(text: string): string[] {
  if (isSimple(text)) return text.split("");
  const found: string[] = [];
  for (let at = 0; at < text.length; ) {
    const chunk = Array.from(
      getSegmenter().segment(text.slice(at, at + CHUNK)),
      ({ segment }) => segment,
    );
    // The last one may go on in the next chunk.
    if (at + CHUNK < text.length && chunk.length > 1) chunk.pop();
    for (const segment of chunk) {
      found.push(segment);
      at += segment.length;
    }
  }
  return found;
}

/** Returns true if no character has the width 0, so that each is a grapheme of its own. */
function isSimple(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (simpleWidth(text.charCodeAt(at)) === 0) return false;
  return true;
}

/** Finds the graphemes of a text. */
export function getSegmenter(): Intl.Segmenter {
  segmenter ??= new Intl.Segmenter();
  return segmenter;
}

/** The text with what is drawn for tabs. */
export function replaceTabs(text: string): string {
  return text.replaceAll("\t", TAB);
}

/**
 * The columns of a character that stands alone, whatever is beside it: no mark, no emoji, nothing that
 * joins. 0 if it may not.
 */
function simpleWidth(code: number): number {
  if (code < 0x7f) return code >= 0x20 ? 1 : 0;
  if (code < 0x2010) return code >= 0xa0 && code < 0x300 && code !== 0xad ? 1 : 0;
  // Punctuation, lines and blocks.
  if (code < 0x2028 || (code >= 0x2500 && code < 0x25a0)) return 1;
  // Kana, Chinese, Korean.
  const isWide =
    (code >= 0x3041 && code <= 0x3096) ||
    (code >= 0x30a1 && code <= 0x30ff) ||
    (code >= 0x4e00 && code <= 0x9fff) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    code === 0x3001 ||
    code === 0x3002;
  return isWide ? 2 : 0;
}

/** The columns of one grapheme. */
export function graphemeWidth(grapheme: string): number {
  if (grapheme === "\t") return TAB.length;
  const alone = grapheme.length === 1 ? simpleWidth(grapheme.charCodeAt(0)) : 0;
  if (alone > 0) return alone;
  let width = 0;
  let first = true;
  for (const character of grapheme) {
    if (first) first = false;
    // A base in text style with the emoji selector is drawn as an emoji, if it is one.
    else if (character === "\u{fe0f}" && EMOJI.test(firstOf(grapheme))) return 2;
    width += characterWidth(character);
  }
  // Letters that join are drawn in no more than two.
  return Math.min(2, width);
}

function firstOf(grapheme: string): string {
  return String.fromCodePoint(grapheme.codePointAt(0) ?? 0);
}

const known = new Map<string, number>();
const MOST_KNOWN = 10_000;

/** The columns of one code point. */
function characterWidth(character: string): number {
  let width = known.get(character);
  if (width === undefined) {
    width = measured(character);
    if (known.size >= MOST_KNOWN) known.clear();
    known.set(character, width);
  }
  return width;
}

function measured(character: string): number {
  if (INVISIBLE.test(character) || INSIDE_HANGUL.test(character)) return 0;
  return KHMER_PAIR.test(character) ? 2 : eastAsianWidth(character.codePointAt(0) ?? 0);
}

/** The columns of a text of which every character stands alone, or -1 if one may not. */
function widthOfSimple(text: string): number {
  let width = text.length;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code >= 0x20 && code < 0x7f) continue;
    const columns = simpleWidth(code);
    if (columns === 0) return -1;
    width += columns - 1;
  }
  return width;
}

/** The columns of a text that may hold escape sequences. */
export function visibleWidth(text: string): number {
  const seen = stripEscapes(String(text));
  const simple = widthOfSimple(seen);
  if (simple >= 0) return simple;
  let width = 0;
  for (const grapheme of graphemes(seen)) width += graphemeWidth(grapheme);
  return width;
}

/** The text without escape sequences. */
export function stripEscapes(text: string): string {
  if (!text.includes(ESCAPE)) return text;
  // Nearly all of them are colours.
  text = text.replace(COLORS, "");
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
