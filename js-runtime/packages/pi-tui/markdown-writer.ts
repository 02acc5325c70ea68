// Puts the nodes of a line of Markdown together, in their styles.
//
// The style of the surroundings goes to every piece of plain text, not around the whole: a bold word
// inside of a grey line would otherwise end the grey. Widths go with the pieces as long as they are known.

import type { Run } from "./markdown-emphasis.ts";
import type { Pen } from "./markdown-ink.ts";
import { widthOfSimple } from "./width.ts";
import type { Span } from "./wrap.ts";

/** A piece of the text. */
export interface Node {
  text: string;
  /** Its columns if it has its style and keeps it, as code does; -1 if they are unknown. */
  styled: number | undefined;
  /** Emphasis may begin or end here. */
  run: Run | undefined;
  /** Marks that begin after it. */
  opens: Mark[] | undefined;
  /** Number of marks that end before it. */
  closes: number;
}

/** A style from one node to another. */
export interface Mark {
  pen: Pen;
  /** Said behind it. */
  after: Span;
  /** Before and behind it, without being seen. */
  link: string | undefined;
  isLink: boolean;
}

/** The styled lines of `nodes`; `base` is for plain text. */
export function write(nodes: Node[], base: Pen): Span[] {
  return new Writer(base).write(nodes);
}

class Writer {
  readonly #base: Pen;
  readonly #marks: Mark[] = [];
  /** Number of them that are links. */
  #links = 0;
  readonly #spans: Span[] = [];
  #line = "";
  #width = 0;
  /** Plain text that has no style yet. */
  #pending = "";

  constructor(base: Pen) {
    this.#base = base;
  }

  write(nodes: Node[]): Span[] {
    for (const node of nodes) {
      if (node.closes > 0) this.#close(node.closes);
      if (node.styled === undefined) this.#pending += node.text;
      else {
        this.#flush();
        this.#put(node.text, node.styled);
      }
      if (node.opens) this.#open(node.opens);
    }
    this.#flush();
    this.#end();
    return this.#spans;
  }

  #open(marks: Mark[]): void {
    this.#flush();
    for (const mark of marks) {
      this.#marks.push(mark);
      if (mark.isLink) this.#links++;
      if (mark.link !== undefined) this.#put(`\x1b]8;;${mark.link}\x1b\\`, -1);
    }
  }

  #close(count: number): void {
    this.#flush();
    for (; count > 0; count--) {
      const mark = this.#marks.pop();
      if (!mark) return;
      if (mark.isLink) this.#links--;
      if (mark.link !== undefined) this.#put("\x1b]8;;\x1b\\", 0);
      this.#put(mark.after.text, mark.after.width);
    }
  }

  #put(text: string, width: number): void {
    this.#line += text;
    this.#width = width < 0 || this.#width < 0 ? -1 : this.#width + width;
  }

  #end(): void {
    this.#spans.push({ text: this.#line, width: this.#width });
    this.#line = "";
    this.#width = 0;
  }

  /** Styles what is pending, each line for itself. */
  #flush(): void {
    const text = this.#pending;
    if (text === "") return;
    this.#pending = "";
    let from = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", from)) {
      this.#style(text.slice(from, end));
      this.#end();
      from = end + 1;
    }
    this.#style(from === 0 ? text : text.slice(from));
  }

  #style(text: string): void {
    if (text === "") return;
    const isLink = this.#links > 0;
    // A link has a colour of its own.
    let styled = isLink ? text : this.#base.style(text);
    let isKnown = isLink || this.#base.extends(text, styled);
    for (const { pen } of this.#marks) {
      const inner = styled;
      styled = pen.style(inner);
      isKnown &&= pen.extends(inner, styled);
    }
    this.#put(styled, isKnown ? widthOfSimple(text) : -1);
  }
}
