// Cleans text for models: no terminal control sequences, no control characters, and U+FFFD for half a
// surrogate pair.
//
// Tabs and line feeds stay; carriage returns go, so CRLF becomes LF. Clean text, nearly all of it,
// costs one look and comes back as the same string.

const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/;
const CONTROLS = new RegExp(CONTROL, "g");

// Each alternative consumes disjoint characters, so a hostile text takes linear time. A string
// sequence without its end must not remove all text after it: only its start is removed.
const ANSI = new RegExp(
  [
    "(?:\\x1b\\[|\\x9b)[0-?]*[ -/]*[@-~]", // CSI: colours, cursor.
    "(?:\\x1b\\]|\\x9d)[^\\x07\\x1b\\x9c]*(?:\\x07|\\x1b\\\\|\\x9c)", // OSC: links, titles.
    "(?:\\x1b[PX^_]|[\\x90\\x98\\x9e\\x9f])[^\\x1b\\x9c]*(?:\\x1b\\\\|\\x9c)", // DCS, SOS, PM, APC.
    "\\x1b[ -/]*[0-~]", // Everything of two or three characters.
  ].join("|"),
  "g",
);

/** `text` as a model may see it. */
export function sanitiseText(text: string): string {
  const clean = CONTROL.test(text) ? text.replace(ANSI, "").replace(CONTROLS, "") : text;
  return clean.isWellFormed() ? clean : clean.toWellFormed();
}
