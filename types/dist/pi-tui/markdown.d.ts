import { type Component, type Style } from "./component.js";
/** The styles of the parts of a document. */
export interface MarkdownTheme {
    heading: Style;
    link: Style;
    linkUrl: Style;
    code: Style;
    codeBlock: Style;
    codeBlockBorder: Style;
    quote: Style;
    quoteBorder: Style;
    hr: Style;
    listBullet: Style;
    bold: Style;
    italic: Style;
    strikethrough: Style;
    underline: Style;
    highlightCode?: (code: string, language?: string) => string[];
    /** Before each line of code; two spaces if nothing is said. */
    codeBlockIndent?: string;
    /** Where a link really leads, for terminals that can follow it. */
    resolveLink?: (href: string) => string | undefined;
}
/** How text looks that has no style of its own. */
export interface DefaultTextStyle {
    color?: Style;
    bgColor?: Style;
    bold?: boolean;
    italic?: boolean;
    strikethrough?: boolean;
    underline?: boolean;
}
/** A document with margins. */
export declare class Markdown implements Component {
    #private;
    constructor(text: string, paddingX: number, paddingY: number, theme: MarkdownTheme, style?: DefaultTextStyle);
    setText(text: string): void;
    invalidate(): void;
    setIgnoreTight(_ignore: boolean): this;
    render(width: number): string[];
}
/** One line of Markdown without blocks, styled. */
export declare function renderInlineMarkdown(text: string, theme: MarkdownTheme, color?: Style): string;
