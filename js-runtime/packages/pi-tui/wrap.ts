// Breaks styled text into lines, and cuts it to a width.
//
// Every returned line is complete in itself: active styles are closed at its end and opened
// again on the next. Lines are not padded. A grapheme is never split; one that is wider than a
// whole line cannot be drawn and becomes `…`, since a line must never be wider than the given width.
//
// Works in words, not in characters: a word is only looked into where it does not fit.

import { ESCAPE, nextEscape, StyleState } from "./escape.ts";
import { graphemes, graphemeWidth, TAB, visibleWidth } from "./width.ts";

/** The lines of `text` at `width` columns, broken at spaces where that is possible. */
export function wrapTextWithAnsi(text: string, width: number): string[] {
  const limit = Math.max(1, Math.floor(width) || 1);
  const lines: string[] = [];
  const styles = new StyleState();
  for (const line of String(text).split(/\r\n|\n|\r/)) wrapLine(lines, line, limit, styles);
  return lines;
}

function wrapLine(lines: string[], text: string, limit: number, styles: StyleState): void {
  if (visibleWidth(text) > limit || text.includes("\t")) {
    new Wrapping(lines, limit, styles).wrap(text);
    return;
  }
  // Most lines fit: then only the styles at their end matter.
  const opening = styles.open();
  seeAll(text, styles);
  lines.push(opening + text + styles.close());
}

/** Takes note of every escape sequence in `text`. */
function seeAll(text: string, styles: StyleState): void {
  for (let at = text.indexOf(ESCAPE); at >= 0; ) {
    const sequence = nextEscape(text, at);
    styles.see(sequence);
    at = text.indexOf(ESCAPE, at + sequence.length);
  }
}

/** One line of text on its way into lines that fit. */
class Wrapping {
  readonly #lines: string[];
  readonly #limit: number;
  readonly #styles: StyleState;
  #line: string;
  #used = 0;
  #gap = 0;
  #word = "";
  #wordWidth = 0;
  /** There is a line before. */
  #isBroken = false;

  constructor(lines: string[], limit: number, styles: StyleState) {
    this.#lines = lines;
    this.#limit = limit;
    this.#styles = styles;
    this.#line = styles.open();
  }

  wrap(text: string): void {
    for (let at = 0; at < text.length; ) {
      const code = text.charCodeAt(at);
      if (code === 0x20 || code === 0x09) {
        // Spaces are put with the word behind them: at the end of a line there are none.
        if (this.#word !== "") this.#putWord();
        const columns = code === 0x20 ? 1 : TAB.length;
        // Spaces that do not fit any more are the break itself.
        if (this.#used + this.#gap + columns <= this.#limit) this.#gap += columns;
        at++;
      } else if (code === 0x1b) {
        const sequence = nextEscape(text, at);
        this.#word += sequence;
        at += sequence.length;
      } else {
        const end = endOfRun(text, at);
        const run = text.slice(at, end);
        this.#word += run;
        this.#wordWidth += visibleWidth(run);
        at = end;
      }
    }
    if (this.#word !== "" || !this.#isBroken) this.#putWord();
    this.#lines.push(this.#line + this.#styles.close());
  }

  #break(): void {
    this.#lines.push(this.#line + this.#styles.close());
    this.#line = this.#styles.open();
    this.#used = 0;
    this.#gap = 0;
    this.#isBroken = true;
  }

  #putWord(): void {
    const width = this.#wordWidth;
    const before = this.#used + this.#gap;
    if (width > 0 && before > 0 && before + width > this.#limit) this.#break();
    if (this.#gap > 0) {
      this.#line += " ".repeat(this.#gap);
      this.#used += this.#gap;
      this.#gap = 0;
    }
    const word = this.#word;
    if (word === "") return;
    this.#word = "";
    this.#wordWidth = 0;
    if (this.#used + width <= this.#limit) {
      this.#line += word;
      this.#used += width;
      if (word.includes(ESCAPE)) seeAll(word, this.#styles);
      return;
    }
    for (const piece of pieces(word)) {
      const fits = piece.width <= this.#limit;
      const columns = fits ? piece.width : 1;
      if (this.#used > 0 && this.#used + columns > this.#limit) this.#break();
      this.#line += fits ? piece.text : "…";
      this.#used += columns;
      if (piece.isEscape) this.#styles.see(piece.text);
    }
  }
}

/** Returns the end of a run of characters that are neither spaces nor escape sequences. */
function endOfRun(text: string, at: number): number {
  let end = at + 1;
  for (; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === 0x20 || code === 0x09 || code === 0x1b) break;
  }
  return end;
}

/** omp names its ellipses by numbers. */
const ELLIPSES = ["…", "...", ""];

/**
 * `text` in at most `maxWidth` columns. What is cut off is replaced by `ellipsis`; `pad` fills up
 * with spaces.
 */
export function truncateToWidth(
  text: string,
  maxWidth: number,
  ellipsis: string | number | null = "…",
  pad: boolean | null = false,
): string {
  const limit = Math.max(0, Math.floor(maxWidth) || 0);
  const mark = typeof ellipsis === "number" ? (ELLIPSES[ellipsis] ?? "…") : (ellipsis ?? "…");
  const width = visibleWidth(text);
  if (width <= limit) return pad ? text + " ".repeat(limit - width) : text;

  const tail = visibleWidth(mark) <= limit ? mark : "";
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
    if (piece.isEscape) styles.see(piece.text);
    taken += piece.text;
    width += piece.width;
  }
  return { text: taken + styles.close(), width };
}

/** The columns from `start` on, `length` of them, with the styles that are on there. */
export function sliceByColumn(line: string, start: number, length: number, strict = false): string {
  return sliceWithWidth(line, start, length, strict).text;
}

/** The same with the width of what is there. A wide character at an edge counts unless `strict`. */
export function sliceWithWidth(
  line: string,
  start: number,
  length: number,
  strict: boolean | null = false,
): { text: string; width: number } {
  const styles = new StyleState();
  let text = "";
  let width = 0;
  let column = 0;
  let began = false;
  for (const piece of pieces(line)) {
    if (piece.isEscape) {
      styles.see(piece.text);
      if (began) text += piece.text;
      continue;
    }
    const isInside = column >= start && column < start + length;
    const fits = !strict || column + piece.width <= start + length;
    if (isInside && fits) {
      if (!began) text += styles.open();
      began = true;
      text += piece.text;
      width += piece.width;
    }
    column += piece.width;
    if (column >= start + length) break;
  }
  return { text: began ? text + styles.close() : "", width };
}

interface Piece {
  text: string;
  width: number;
  isEscape: boolean;
}

function* pieces(text: string): Generator<Piece> {
  for (let at = 0; at < text.length; ) {
    if (text[at] === ESCAPE) {
      const sequence = nextEscape(text, at);
      at += sequence.length;
      yield { text: sequence, width: 0, isEscape: true };
      continue;
    }
    const next = text.indexOf(ESCAPE, at);
    const end = next < 0 ? text.length : next;
    for (const grapheme of graphemes(text.slice(at, end))) {
      const text = grapheme === "\t" ? TAB : grapheme;
      yield { text, width: graphemeWidth(grapheme), isEscape: false };
    }
    at = end;
  }
}
