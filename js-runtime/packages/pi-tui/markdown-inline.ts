// What is inside of a line of Markdown: emphasis, code, links, breaks.
//
// The style of the surroundings goes to every piece of plain text, not around the whole: a bold
// word inside of a grey line would otherwise end the grey.

import type { Token } from "marked";

import type { Style } from "./component.ts";
import type { MarkdownTheme } from "./markdown.ts";

/** One styled text, with `\n` where the author wrote a break. */
export function inline(tokens: Token[], theme: MarkdownTheme, base: Style): string {
  return tokens.map((token) => piece(token, theme, base)).join("");
}

function piece(token: Token, theme: MarkdownTheme, base: Style): string {
  const nested = (style: Style) =>
    inline("tokens" in token ? (token.tokens ?? []) : [], theme, style);
  switch (token.type) {
    case "strong":
      return nested((text) => theme.bold(base(text)));
    case "em":
      return nested((text) => theme.italic(base(text)));
    case "del":
      return nested((text) => theme.strikethrough(base(text)));
    case "codespan":
      return theme.code(decode(token.text));
    case "br":
      return "\n";
    case "link":
      return link(
        token.text,
        token.href,
        nested((text) => theme.link(theme.underline(text))),
        theme,
      );
    case "image":
      return theme.link(token.text || token.href);
    case "checkbox":
      return "";
    case "text":
      return "tokens" in token && token.tokens
        ? nested(base)
        : styleLines(decode(token.text), base);
    case "escape":
      return base(token.text);
    default:
      return styleLines(token.raw, base);
  }
}

/** The address is worth showing only where the text does not say it already. */
function link(text: string, href: string, shown: string, theme: MarkdownTheme): string {
  return text === href || `mailto:${text}` === href
    ? shown
    : `${shown} ${theme.linkUrl(`(${href})`)}`;
}

function styleLines(text: string, style: Style): string {
  return text
    .split("\n")
    .map((line) => (line === "" ? "" : style(line)))
    .join("\n");
}

const ENTITIES: Record<string, string> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#39": "'",
  nbsp: "\u00a0",
};

function decode(text: string): string {
  return text.replace(
    /&(amp|lt|gt|quot|#39|nbsp);/g,
    (_, name: string) => ENTITIES[name] as string,
  );
}
