// Escape sequences in text: where one ends, and which styles are on after a run of them.
//
// A style that is on at the end of a line has to be closed there and opened again on the next, or
// it runs into borders and backgrounds. It is closed with its own code, never with a full reset:
// that would also end the background which a box around the text has set.

export const ESCAPE = "\x1b";

const CSI = /\x1b\[[0-?]*[ -/]*[@-~]/y;
const STRING = /\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)/y;
const SHORT = /\x1b[ -/]*[0-~]?/y;

const HYPERLINK = /^\x1b\]8;[^;]*;(.*?)(?:\x07|\x1b\\)$/s;
/** The sequence that begins at `at`, where `text` has an ESC. */
export function nextEscape(text: string, at: number): string {
  for (const pattern of [CSI, STRING, SHORT]) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) return found[0];
  }
  return ESCAPE;
}

/** Attributes that are on or off: the code that turns each on, and the one that ends it. */
const ATTRIBUTES = [
  [1, 22],
  [2, 22],
  [3, 23],
  [4, 24],
  [5, 25],
  [7, 27],
  [8, 28],
  [9, 29],
  [53, 55],
] as const;

const BITS: number[] = [];
const ENDS: number[] = [];
ATTRIBUTES.forEach(([begin, end], bit) => {
  BITS[begin] = 1 << bit;
  ENDS[end] = (ENDS[end] ?? 0) | (1 << bit);
});
// Other spellings: fast blinking, double underline.
BITS[6] = BITS[5] as number;
BITS[21] = BITS[4] as number;

/** The styles and the hyperlink that are on after the sequences seen so far. */
export class StyleState {
  #attributes = 0;
  #text = "";
  #ground = "";
  #line = "";
  #link = "";

  /** Takes note of one escape sequence. */
  see(sequence: string): void {
    if (sequence.charCodeAt(1) === 0x5b) {
      const end = sequence.length - 1;
      if (sequence.charCodeAt(end) === 0x6d) this.#seeCodes(sequence, 2, end);
      return;
    }
    const link = HYPERLINK.exec(sequence);
    if (link) this.#link = link[1] === "" ? "" : sequence;
  }

  /** Turns everything on again that is on now. */
  open(): string {
    if (!this.#hasStyle()) return this.#link;
    let codes = "";
    for (let bit = 0; bit < ATTRIBUTES.length; bit++) {
      if (this.#attributes & (1 << bit)) codes += `${ATTRIBUTES[bit]?.[0]};`;
    }
    for (const color of [this.#text, this.#ground, this.#line]) if (color) codes += `${color};`;
    return `\x1b[${codes.slice(0, -1)}m${this.#link}`;
  }

  /** Turns everything off that is on, and nothing else. */
  close(): string {
    const link = this.#link && "\x1b]8;;\x1b\\";
    if (!this.#hasStyle()) return link;
    let codes = "";
    let last = 0;
    for (let bit = 0; bit < ATTRIBUTES.length; bit++) {
      const end = ATTRIBUTES[bit]?.[1] ?? 0;
      if (this.#attributes & (1 << bit) && end !== last) codes += `${end};`;
      if (this.#attributes & (1 << bit)) last = end;
    }
    if (this.#text) codes += "39;";
    if (this.#ground) codes += "49;";
    if (this.#line) codes += "59;";
    return `${link}\x1b[${codes.slice(0, -1)}m`;
  }

  #hasStyle(): boolean {
    return this.#attributes !== 0 || this.#text !== "" || this.#ground !== "" || this.#line !== "";
  }

  #seeCodes(sequence: string, from: number, end: number): void {
    for (let at = from; at <= end; ) {
      const next = endOfCode(sequence, at, end);
      const number = numberAt(sequence, at, next);
      let after = next + 1;
      if (number === 38 || number === 48 || number === 58) {
        after = endOfColor(sequence, at, next, end) + 1;
      }
      this.#seeCode(number, sequence, at, after - 1);
      at = after;
    }
  }

  #seeCode(number: number, sequence: string, from: number, end: number): void {
    if (number === 0) {
      this.#attributes = 0;
      this.#text = this.#ground = this.#line = "";
    } else if (number === 4 && sequence.slice(from, end) === "4:0") {
      this.#attributes &= ~(BITS[4] as number);
    } else if (BITS[number] !== undefined) this.#attributes |= BITS[number];
    else if (ENDS[number] !== undefined) this.#attributes &= ~ENDS[number];
    else if (isColor(number, 30, 90, 38)) this.#text = sequence.slice(from, end);
    else if (isColor(number, 40, 100, 48)) this.#ground = sequence.slice(from, end);
    else if (number === 58) this.#line = sequence.slice(from, end);
    else if (number === 39) this.#text = "";
    else if (number === 49) this.#ground = "";
    else if (number === 59) this.#line = "";
  }
}

function isColor(number: number, dark: number, bright: number, own: number): boolean {
  return (
    (number >= dark && number <= dark + 7) ||
    (number >= bright && number <= bright + 7) ||
    number === own
  );
}

/** Returns the end of the code that begins at `at`: a semicolon or the end of the sequence. */
function endOfCode(sequence: string, at: number, end: number): number {
  const next = sequence.indexOf(";", at);
  return next < 0 || next > end ? end : next;
}

function numberAt(sequence: string, at: number, end: number): number {
  let number = 0;
  for (let digit = at; digit < end; digit++) {
    const code = sequence.charCodeAt(digit) - 0x30;
    if (code < 0 || code > 9) break;
    number = number * 10 + code;
  }
  return number;
}

/** `38;5;n` and `38;2;r;g;b` take the codes that follow with them; `38:5:n` is one code. */
function endOfColor(sequence: string, at: number, next: number, end: number): number {
  if (sequence.slice(at, next).includes(":")) return next;
  const kind = sequence.charCodeAt(next + 1);
  let count = kind === 0x35 ? 2 : kind === 0x32 ? 4 : 0;
  let last = next;
  for (; count > 0 && last < end; count--) last = endOfCode(sequence, last + 1, end);
  return last;
}
