// Escape sequences in text: where one ends, and which styles are on after a run of them.
//
// A style that is on at the end of a line has to be closed there and opened again on the next, or
// it runs into borders and backgrounds. It is closed with its own code, never with a full reset:
// that would also end the background which a box around the text has set.

export const ESCAPE = "\x1b";

const CSI = /\x1b\[[0-?]*[ -/]*[@-~]/y;
const STRING = /\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)/y;
const SHORT = /\x1b[ -/]*[0-~]?/y;

const SGR = /^\x1b\[([\d;:]*)m$/;
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

/** What ends each style that a terminal can turn on. */
const CLOSERS: Record<string, string> = {
  bold: "22",
  dim: "22",
  italic: "23",
  underline: "24",
  blink: "25",
  inverse: "27",
  hidden: "28",
  strike: "29",
  fg: "39",
  bg: "49",
  overline: "55",
  underlineColor: "59",
};

const STYLES: Record<string, string> = {
  1: "bold",
  2: "dim",
  3: "italic",
  4: "underline",
  5: "blink",
  6: "blink",
  7: "inverse",
  8: "hidden",
  9: "strike",
  21: "underline",
  38: "fg",
  48: "bg",
  53: "overline",
  58: "underlineColor",
};

/** The styles and the hyperlink that are on after the sequences seen so far. */
export class StyleState {
  readonly #on = new Map<string, string>();
  #link = "";

  /** Takes note of one escape sequence. */
  see(sequence: string): void {
    const link = HYPERLINK.exec(sequence);
    if (link) this.#link = link[1] === "" ? "" : sequence;
    const sgr = SGR.exec(sequence);
    if (sgr) this.#seeCodes((sgr[1] ?? "").split(";"));
  }

  /** Turns everything on again that is on now. */
  open(): string {
    const codes = [...this.#on.values()];
    return (codes.length > 0 ? `\x1b[${codes.join(";")}m` : "") + this.#link;
  }

  /** Turns everything off that is on, and nothing else. */
  close(): string {
    const codes = new Set([...this.#on.keys()].map((style) => CLOSERS[style]));
    return (
      (this.#link && "\x1b]8;;\x1b\\") + (codes.size > 0 ? `\x1b[${[...codes].join(";")}m` : "")
    );
  }

  #seeCodes(codes: string[]): void {
    while (codes.length > 0) {
      const code = codes.shift() as string;
      const number = Number.parseInt(code, 10) || 0;
      const style = styleOf(number);
      if (number === 0) this.#on.clear();
      else if (code === "4:0") this.#on.delete("underline");
      else if (style) this.#on.set(style, extended(number, code, codes));
      else
        for (const [name, closer] of Object.entries(CLOSERS))
          if (closer === code) this.#on.delete(name);
    }
  }
}

function styleOf(code: number): string | undefined {
  if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) return "fg";
  if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) return "bg";
  return STYLES[code];
}

/** `38;5;n` and `38;2;r;g;b` take the codes that follow with them. */
function extended(number: number, code: string, rest: string[]): string {
  if (code.includes(":") || (number !== 38 && number !== 48 && number !== 58)) return code;
  const count = rest[0] === "5" ? 2 : rest[0] === "2" ? 4 : 0;
  return [code, ...rest.splice(0, count)].join(";");
}
