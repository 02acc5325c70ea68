import type { Token } from "marked";
import type { Style } from "./component.js";
import type { MarkdownTheme } from "./markdown.js";
/** One styled text, with `\n` where the author wrote a break. */
export declare function inline(tokens: Token[], theme: MarkdownTheme, base: Style): string;
