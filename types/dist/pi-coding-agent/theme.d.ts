import type { Component, MarkdownTheme, SelectListTheme } from "../pi-tui/index.js";
/** Styles by the names that tools use. */
export declare class Theme {
    readonly name: string;
    readonly spinnerFrames: readonly string[];
    fg(color: string, text: string): string;
    bg(color: string, text: string): string;
    bold(text: string): string;
    italic(text: string): string;
    underline(text: string): string;
    inverse(text: string): string;
    strikethrough(text: string): string;
    symbol(key: string): string;
    styledSymbol(key: string, color: string): string;
}
/** The theme that is in force. */
export declare const theme: Theme;
/** The original reads a theme from a file here; haft has one. */
export declare function initTheme(): void;
/** How `Markdown` looks in this theme. */
export declare function getMarkdownTheme(): MarkdownTheme;
/** How `SelectList` looks in this theme. */
export declare function getSelectListTheme(): SelectListTheme;
/** `keyHint("expandTools", "to expand")` → `ctrl+o to expand`. */
export declare function keyHint(action: string, description: string): string;
/** A horizontal line as wide as there is room. */
export declare class DynamicBorder implements Component {
    #private;
    constructor(color?: (text: string) => string);
    invalidate(): void;
    render(width: number): string[];
}
