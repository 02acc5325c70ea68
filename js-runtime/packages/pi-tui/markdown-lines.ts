// What a line of Markdown begins: a heading, code, a quote, an item of a list, a rule.
//
// Looks at characters first and at patterns only where they can fit: most lines are plain text.

/** Columns of indentation. Tabs are spaces by now. */
export function indentOf(line: string): number {
  let at = 0;
  while (line.charCodeAt(at) === 0x20) at++;
  return at;
}

export function isBlank(line: string): boolean {
  return indentOf(line) === line.length;
}

/** An ATX heading. */
export function headingAt(line: string): { depth: number; text: string } | undefined {
  const found = /^ {0,3}(#{1,6})(?:[ ]+(.*))?$/.exec(line);
  if (!found) return undefined;
  const text = (found[2] ?? "").trim().replace(/(?:^|[ ]+)#+$/, "");
  return { depth: (found[1] as string).length, text };
}

/** The depth of the heading that a line of `=` or `-` makes of the paragraph above it, or 0. */
export function underlineAt(line: string): number {
  const indent = indentOf(line);
  const mark = line.charCodeAt(indent);
  if (indent > 3 || (mark !== 0x3d && mark !== 0x2d)) return 0;
  return /^ *(?:=+|-+) *$/.test(line) ? (mark === 0x3d ? 1 : 2) : 0;
}

/** Three or more of `-`, `*` or `_`. */
export function isRule(line: string): boolean {
  const mark = line.charCodeAt(indentOf(line));
  if (mark !== 0x2d && mark !== 0x2a && mark !== 0x5f) return false;
  return /^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$/.test(line);
}

/** The beginning of a block of code. */
export interface Fence {
  indent: number;
  language: string | undefined;
  isEnd(line: string): boolean;
}

export function fenceAt(line: string): Fence | undefined {
  const found = /^( {0,3})(`{3,}|~{3,})(.*)$/.exec(line);
  if (!found) return undefined;
  const [, indent = "", marks = "", info = ""] = found;
  const mark = marks.charCodeAt(0);
  if (mark === 0x60 && info.includes("`")) return undefined;
  const language = info.trim().split(/[\s{,]/, 1)[0] || undefined;
  return {
    indent: indent.length,
    language,
    isEnd(candidate) {
      const start = indentOf(candidate);
      if (start > 3 || candidate.charCodeAt(start) !== mark) return false;
      let end = start;
      while (candidate.charCodeAt(end) === mark) end++;
      return end - start >= marks.length && candidate.slice(end).trim() === "";
    },
  };
}

/** Text of a line of a quote; undefined if it has no mark. */
export function quoted(line: string): string | undefined {
  const indent = indentOf(line);
  if (indent > 3 || line.charCodeAt(indent) !== 0x3e) return undefined;
  return line.slice(indent + (line.charCodeAt(indent + 1) === 0x20 ? 2 : 1));
}

/** The first line of an item of a list. */
export interface Item {
  /** Items of one list have one kind: the character of their marks. */
  kind: string;
  /** Of a numbered list, where it begins. */
  number: number | undefined;
  /** Column of the text; lines with at least this indentation belong to the item. */
  content: number;
  text: string;
}

export function itemAt(line: string): Item | undefined {
  const indent = indentOf(line);
  const first = line.charCodeAt(indent);
  const isMark = first === 0x2d || first === 0x2a || first === 0x2b;
  if (indent > 3 || (!isMark && !(first >= 0x30 && first <= 0x39))) return undefined;
  let end = indent + 1;
  if (!isMark) {
    while (line.charCodeAt(end) >= 0x30 && line.charCodeAt(end) <= 0x39) end++;
    const closing = line.charCodeAt(end);
    if (end - indent > 9 || (closing !== 0x2e && closing !== 0x29)) return undefined;
    end++;
  }
  if (end < line.length && line.charCodeAt(end) !== 0x20) return undefined;
  const text = line.slice(end).trimStart();
  const gap = line.length - end - text.length;
  const content = text === "" || gap > 4 ? end + 1 : end + gap;
  return {
    kind: line[end - 1] as string,
    number: isMark ? undefined : Number(line.slice(indent, end - 1)),
    content,
    text: line.slice(content),
  };
}

/** Returns true if a line begins something that ends a paragraph. */
export function interrupts(line: string): boolean {
  const indent = indentOf(line);
  if (indent > 3) return false;
  const first = line.charCodeAt(indent);
  switch (first) {
    case 0x23: // #
      return headingAt(line) !== undefined;
    case 0x3e: // >
      return true;
    case 0x60: // `
    case 0x7e: // ~
      return fenceAt(line) !== undefined;
    case 0x2a: // *
    case 0x2b: // +
    case 0x2d: // -
    case 0x5f: {
      const item = itemAt(line);
      return isRule(line) || (item !== undefined && item.text !== "");
    }
    case 0x31: // 1
      return (itemAt(line)?.text ?? "") !== "" && itemAt(line)?.number === 1;
    default:
      return false;
  }
}
