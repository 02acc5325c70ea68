// Breaks styled text into lines, and cuts it to a width.
//
// Every line that comes out stands alone: styles that were on are closed at its end and opened
// again on the next. Lines are not padded. A grapheme is never split; one that is wider than a
// whole line cannot be drawn and becomes `…`, since no line may ever be wider than it was told.

import { ESCAPE, nextEscape, StyleState } from "./escape.ts";
import { graphemes, graphemeWidth, TAB, visibleWidth } from "./width.ts";

interface Piece {
  text: string;
  width: number;
  kind: "escape" | "space" | "mark";
}

const TOO_WIDE: Piece = { text: "…", width: 1, kind: "mark" };

/** The lines of `text` at `width` columns, broken at spaces where that is possible. */
export function wrapTextWithAnsi(text: string, width: number): string[] {
  const limit = Math.max(1, Math.floor(width) || 1);
  const styles = new StyleState();
  return text.split(/\r\n|\n|\r/).flatMap((line) => wrapLine(line, limit, styles));
}

function wrapLine(text: string, limit: number, styles: StyleState): string[] {
  const lines: string[] = [];
  let line = styles.open();
  let used = 0;
  let spaces = "";
  let word: Piece[] = [];
  let wordWidth = 0;

  const breakLine = () => {
    lines.push(line + styles.close());
    line = styles.open();
    used = 0;
    spaces = "";
  };
  const put = ({ text: piece, kind, width }: Piece) => {
    line += piece;
    used += width;
    if (kind === "escape") styles.see(piece);
  };
  const putWord = () => {
    if (used > 0 && used + spaces.length + wordWidth > limit && wordWidth > 0) breakLine();
    line += spaces;
    used += spaces.length;
    spaces = "";
    for (const whole of word) {
      const piece = whole.width > limit ? TOO_WIDE : whole;
      if (used > 0 && used + piece.width > limit) breakLine();
      put(piece);
    }
    word = [];
    wordWidth = 0;
  };

  for (const piece of pieces(text)) {
    if (piece.kind === "space") {
      putWord();
      // Spaces that do not fit any more are the break itself.
      if (used + spaces.length + piece.width <= limit) spaces += piece.text;
    } else {
      word.push(piece);
      wordWidth += piece.width;
    }
  }
  putWord();
  lines.push(line + styles.close());
  return lines;
}

/**
 * `text` in at most `maxWidth` columns. What is cut off is replaced by `ellipsis`; `pad` fills up
 * with spaces.
 */
export function truncateToWidth(
  text: string,
  maxWidth: number,
  ellipsis = "…",
  pad = false,
): string {
  const limit = Math.max(0, Math.floor(maxWidth) || 0);
  const width = visibleWidth(text);
  if (width <= limit) return pad ? text + " ".repeat(limit - width) : text;

  const tail = visibleWidth(ellipsis) <= limit ? ellipsis : "";
  const { text: head, width: used } = takeColumns(text, limit - visibleWidth(tail));
  const filler = pad ? " ".repeat(limit - used - visibleWidth(tail)) : "";
  return head + tail + filler;
}

/** As much of the beginning as fits, with its styles closed. */
function takeColumns(text: string, limit: number): { text: string; width: number } {
  const styles = new StyleState();
  let taken = "";
  let width = 0;
  for (const piece of pieces(text)) {
    if (width + piece.width > limit) break;
    if (piece.kind === "escape") styles.see(piece.text);
    taken += piece.text;
    width += piece.width;
  }
  return { text: taken + styles.close(), width };
}

function* pieces(text: string): Generator<Piece> {
  for (let at = 0; at < text.length; ) {
    if (text[at] === ESCAPE) {
      const sequence = nextEscape(text, at);
      at += sequence.length;
      yield { text: sequence, width: 0, kind: "escape" };
      continue;
    }
    const next = text.indexOf(ESCAPE, at);
    const end = next < 0 ? text.length : next;
    for (const grapheme of graphemes(text.slice(at, end))) yield piece(grapheme);
    at = end;
  }
}

function piece(grapheme: string): Piece {
  if (grapheme === "\t") return { text: TAB, width: TAB.length, kind: "space" };
  const kind = grapheme === " " ? "space" : "mark";
  return { text: grapheme, width: graphemeWidth(grapheme), kind };
}
