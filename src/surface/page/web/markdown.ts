// Display of Markdown as elements. Markup in it stays text, and images are links, so that nothing is
// loaded from other servers.

import { lexer, type Token, type Tokens } from "marked";
import { el, table } from "./dom.ts";
import { prose } from "./visible.ts";

/** Length above which a text is not parsed. */
const MOST = 200_000;

const STRONG_SIGNS = [
  /^#{1,6} \S/m,
  /^(```|~~~)/m,
  /^[-*+] \S.*\n[-*+] \S/m,
  /^\|.*\|\s*\n\|[\s:|-]+\|\s*$/m,
];
const WEAK_SIGNS = [
  /^\s*([-*+]|\d+\.) \S/m,
  /\*\*\S/,
  /\[[^\]\n]+\]\(\S+\)/,
  /`[^`\n]+`/,
  /^> \S/m,
];

/** Returns true if a text is likely to be Markdown. */
export function isMarkdown(text: string): boolean {
  if (text.length > MOST) return false;
  if (STRONG_SIGNS.some((sign) => sign.test(text))) return true;
  return WEAK_SIGNS.filter((sign) => sign.test(text)).length >= 2;
}

/** Creates the elements of a Markdown text. */
export function markdown(text: string): HTMLElement {
  const tokens = lexer(text);
  orderHeadings(tokens);
  return el("div.markdown", ...blocks(tokens));
}

/** Changes the levels of headings, so that they begin below that of the page and skip none. */
function orderHeadings(tokens: Token[]): void {
  const headings = tokens.filter((token) => token.type === "heading") as Tokens.Heading[];
  const least = Math.min(...headings.map(({ depth }) => depth));
  let before = 1;
  for (const heading of headings) {
    before = Math.min(heading.depth - least + 2, before + 1, 6);
    heading.depth = before;
  }
}

function blocks(tokens: Token[]): Node[] {
  return tokens.flatMap(block);
}

function block(token: Token): Node[] {
  switch (token.type) {
    case "space":
    case "def":
      return [];
    case "heading": {
      const { depth } = token as Tokens.Heading;
      return [el(`h${Math.max(depth, 2)}` as "h2", ...inline(token))];
    }
    case "code": {
      const code = el("code");
      code.textContent = prose((token as Tokens.Code).text);
      return [el("pre.code-block", { tabindex: "0" }, code)];
    }
    case "blockquote":
      return [el("blockquote", ...blocks((token as Tokens.Blockquote).tokens))];
    case "list":
      return [list(token as Tokens.List)];
    case "table":
      return [tableOf(token as Tokens.Table)];
    case "hr":
      return [el("hr")];
    case "text":
      return inline(token);
    default:
      return [el("p", ...inline(token))];
  }
}

function list(token: Tokens.List): HTMLElement {
  const items = token.items.map((item) => {
    const box = item.task ? `${item.checked ? "☑" : "☐"} ` : null;
    const parts = item.tokens.filter(({ type }) => type !== "checkbox");
    return el("li", box, ...parts.flatMap(item.loose ? block : tight));
  });
  if (!token.ordered) return el("ul", ...items);
  return el("ol", { start: token.start === "" ? null : token.start }, ...items);
}

/** Returns the elements of a part of a list item without space around it. */
function tight(token: Token): Node[] {
  return token.type === "text" || token.type === "paragraph" ? inline(token) : block(token);
}

function tableOf({ header, rows }: Tokens.Table): HTMLElement {
  const cells = (name: "th" | "td", row: Tokens.TableCell[]) =>
    row.map(({ tokens }) => el(name, ...all(tokens)));
  return table(
    cells("th", header),
    rows.map((row) => cells("td", row)),
  );
}

/** Returns the content of a token: its parts, or its text. */
function inline(token: Token): Node[] {
  const parts = "tokens" in token ? token.tokens : undefined;
  if (parts !== undefined && parts.length > 0) return all(parts);
  const text = "text" in token ? String(token.text) : token.raw;
  return [document.createTextNode(prose(text))];
}

function all(tokens: Token[]): Node[] {
  return tokens.flatMap(span);
}

function span(token: Token): Node[] {
  switch (token.type) {
    case "strong":
      return [el("strong", ...inline(token))];
    case "em":
      return [el("em", ...inline(token))];
    case "del":
      return [el("del", ...inline(token))];
    case "codespan":
      return [el("code", (token as Tokens.Codespan).text)];
    case "br":
      return [el("br")];
    case "link":
    case "image": {
      const { href } = token as Tokens.Link;
      return [link(href, inline(token))];
    }
    case "html":
      return [document.createTextNode(prose(token.raw))];
    default:
      return inline(token);
  }
}

/** Creates a link to a web page or a mail address. Other addresses are shown as text. */
function link(href: string, content: Node[]): Node {
  if (!/^(https?:\/\/|mailto:)/i.test(href)) return el("span", { title: href }, ...content);
  return el("a", { href, title: href, target: "_blank", rel: "noopener noreferrer" }, ...content);
}
