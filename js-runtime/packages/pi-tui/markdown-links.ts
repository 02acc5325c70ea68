// Links of Markdown: addresses in brackets, in angle brackets, and bare; entities.

/** A link that is its own text. */
interface WholeLink {
  text: string;
  address: string;
  end: number;
}

/** CommonMark's limit of brackets in an address. */
const DEEPEST = 32;

/** The address in `(address "title")`, where `at` is the bracket. */
export function destinationAt(
  text: string,
  at: number,
): { address: string; end: number } | undefined {
  let from = at + 1;
  while (isGap(text.charCodeAt(from))) from++;
  let end = from;
  let address: string;
  if (text[from] === "<") {
    end = text.indexOf(">", from);
    if (end < 0) return undefined;
    address = text.slice(from + 1, end++);
  } else {
    let depth = 0;
    for (; end < text.length; end++) {
      const code = text.charCodeAt(end);
      if (code === 0x5c) end++;
      else if (code === 0x28 && ++depth > DEEPEST) return undefined;
      else if (code === 0x29 && depth-- === 0) break;
      else if (code <= 0x20) break;
    }
    address = text.slice(from, end);
  }
  const rest =
    /[ \n]*(?:[ \n](?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\((?:[^()\\]|\\.)*\))[ \n]*)?\)/y;
  rest.lastIndex = end;
  if (!rest.test(text)) return undefined;
  return { address: address.replace(/\\([!-/:-@[-`{-~])/g, "$1"), end: rest.lastIndex };
}

function isGap(code: number): boolean {
  return code === 0x20 || code === 0x0a;
}

const AUTOLINK = /<([A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*)>/y;
const MAIL = /<([\w.!#$%&'*+/=?^`{|}~-]+@[\w-]+(?:\.[\w-]+)*)>/y;

/** `<https://a.example>` or `<ada@a.example>`. */
export function autolinkAt(text: string, at: number): WholeLink | undefined {
  for (const [pattern, scheme] of [
    [AUTOLINK, ""],
    [MAIL, "mailto:"],
  ] as const) {
    pattern.lastIndex = at;
    const address = pattern.exec(text)?.[1];
    if (address !== undefined) {
      return { text: address, address: scheme + address, end: pattern.lastIndex };
    }
  }
  return undefined;
}

const BARE = /(?:https?:\/\/|www\.)[^\s<]+/y;

/** An address in the middle of a text. */
export function bareLinkAt(text: string, at: number): WholeLink | undefined {
  if (!text.startsWith("http", at) && !text.startsWith("www.", at)) return undefined;
  if (at > 0 && /[A-Za-z0-9]/.test(text[at - 1] as string)) return undefined;
  BARE.lastIndex = at;
  const found = BARE.exec(text)?.[0];
  if (found === undefined) return undefined;
  const link = withoutPunctuation(found);
  if (!/[^.:/w]/.test(link.replace(/^https?/, ""))) return undefined;
  const address = link.startsWith("www.") ? `http://${link}` : link;
  return { text: link, address, end: at + link.length };
}

/** Removes the end of a sentence from an address, and a closing bracket that was opened before it. */
function withoutPunctuation(link: string): string {
  let end = link.length;
  let open = 0;
  for (const character of link) open += character === "(" ? 1 : character === ")" ? -1 : 0;
  for (; end > 0; end--) {
    const last = link[end - 1] as string;
    if (last === ")" && open < 0) open++;
    else if (!/[?!.,:;*_~'"`\]]/.test(last)) break;
  }
  return link.slice(0, end);
}

const ENTITIES: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  copy: "©",
  reg: "®",
  trade: "™",
  hellip: "…",
  mdash: "—",
  ndash: "–",
  lsquo: "‘",
  rsquo: "’",
  ldquo: "“",
  rdquo: "”",
  laquo: "«",
  raquo: "»",
  bull: "•",
  middot: "·",
  deg: "°",
  plusmn: "±",
  times: "×",
  divide: "÷",
  larr: "←",
  uarr: "↑",
  rarr: "→",
  darr: "↓",
  le: "≤",
  ge: "≥",
  ne: "≠",
  infin: "∞",
  euro: "€",
  pound: "£",
  yen: "¥",
  cent: "¢",
  sect: "§",
  para: "¶",
  shy: "\u00ad",
  ensp: "\u2002",
  emsp: "\u2003",
  thinsp: "\u2009",
  zwj: "\u200d",
  zwnj: "\u200c",
};

const ENTITY = /&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([A-Za-z]\w{1,31}));/y;

/** The character that an entity stands for. */
export function decodeEntity(text: string, at: number): { text: string; end: number } | undefined {
  ENTITY.lastIndex = at;
  const found = ENTITY.exec(text);
  if (!found) return undefined;
  const [, decimal, hex, name] = found;
  const character = name === undefined ? ofNumber(Number(decimal ?? `0x${hex}`)) : ENTITIES[name];
  return character === undefined ? undefined : { text: character, end: ENTITY.lastIndex };
}

function ofNumber(code: number): string {
  const isCharacter = code > 0x1f && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  return isCharacter && !(code >= 0x7f && code <= 0x9f) ? String.fromCodePoint(code) : "\ufffd";
}
