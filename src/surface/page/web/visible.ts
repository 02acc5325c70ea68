// Escapes invisible characters in text, in the same way as `crates/tool/src/visible.rs`.
//
// Control characters, zero-width characters, tags and characters that reorder text are shown as
// `\u{202e}`. Prose keeps those that emoji and scripts with joining letters need. Names keep none.

const JOINING =
  "\\p{sc=Arabic}\\p{sc=Syriac}\\p{sc=Nko}\\p{sc=Mandaic}\\p{sc=Devanagari}\\p{sc=Bengali}" +
  "\\p{sc=Gurmukhi}\\p{sc=Gujarati}\\p{sc=Oriya}\\p{sc=Tamil}\\p{sc=Telugu}\\p{sc=Kannada}" +
  "\\p{sc=Malayalam}\\p{sc=Sinhala}\\p{sc=Tibetan}\\p{sc=Myanmar}\\p{sc=Khmer}\\p{sc=Mongolian}";
const RIGHT_TO_LEFT = "[\\p{sc=Hebrew}\\p{sc=Arabic}\\p{sc=Syriac}\\p{sc=Thaana}\\p{sc=Nko}]";
const HARMFUL =
  "[\\p{Cc}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}\\u{fff9}-\\u{fffb}\\u{e0000}-\\u{e0fff}]";

/** Patterns of invisible characters that prose needs in their context. */
const KEPT = [
  "[\\n\\t]",
  "\\r(?=\\n)",
  "(?<=\\p{Extended_Pictographic}[\\ufe0f\\u{1f3fb}-\\u{1f3ff}]?)\\u200d(?=\\p{Extended_Pictographic})",
  "(?<=\\p{Extended_Pictographic})[\\ufe0e\\ufe0f]",
  "(?<=[0-9#*])[\\ufe0e\\ufe0f](?=\\u20e3)",
  `(?<=[${JOINING}])[\\u200c\\u200d](?=[${JOINING}]|[^\\p{L}\\p{N}])`,
  `(?<=${RIGHT_TO_LEFT})[\\u200e\\u200f]`,
  `[\\u200e\\u200f](?=${RIGHT_TO_LEFT})`,
  "(?<=\\p{L})\\u00ad(?=\\p{L})",
  `(?<=\\u{1f3f4})(?:${["gbeng", "gbsct", "gbwls"].map(tags).join("|")})`,
].join("|");

const IN_PROSE = new RegExp(`(${KEPT})|${HARMFUL}`, "gu");
const IN_NAMES = new RegExp(
  `${HARMFUL}|[\\u{a0}\\u{1680}\\u{2000}-\\u{200a}\\u{202f}\\u{205f}\\u{2800}\\u{3000}]`,
  "gu",
);

/** Returns the tags of a subdivision flag, with their end. */
function tags(letters: string): string {
  const tag = (letter: string) => `\\u{${(0xe0000 + letter.charCodeAt(0)).toString(16)}}`;
  return `${[...letters].map(tag).join("")}\\u{e007f}`;
}

/** Escapes a text that may contain prose. */
export function prose(text: string): string {
  return text.replace(IN_PROSE, (found: string, kept?: string) => kept ?? escaped(found));
}

/** Escapes a name or a path, where every invisible character becomes an escape. */
export function exact(text: string): string {
  return text.replace(IN_NAMES, escaped);
}

function escaped(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
