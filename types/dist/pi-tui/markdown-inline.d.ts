import type { Style } from "./component.js";
import type { DefaultTextStyle, MarkdownTheme } from "./markdown.js";
/** Link definitions: addresses by label, and the lines that are nothing else. */
export interface Definitions {
    links: Map<string, string>;
    lines: Set<string>;
}
/** The definitions of a document. */
export declare function definitionsOf(written: string[]): Definitions;
/** How a document is styled. */
export interface Ink {
    theme: MarkdownTheme;
    /** For text that has no style of its own. */
    base: Style;
    /** No style changes how wide a text is. */
    keepsWidths: boolean;
    /** Links can be followed, so that addresses need not be read. */
    hyperlinks: boolean;
}
/** The styles of a theme, and what is known of them. */
export declare function inkOf(theme: MarkdownTheme, style: DefaultTextStyle, hyperlinks: boolean): Ink;
/** One styled text, with `\n` where the author's line ends. */
export declare function inline(text: string, ink: Ink, base: Style, definitions?: Definitions): string;
