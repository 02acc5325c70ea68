import type { Tokens } from "marked";
import type { Style } from "./component.js";
import type { MarkdownTheme } from "./markdown.js";
/** The lines of a table, none wider than `width`. */
export declare function drawTable(table: Tokens.Table, width: number, theme: MarkdownTheme, base: Style): string[];
