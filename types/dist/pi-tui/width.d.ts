/** What components draw for a tab. */
export declare const TAB = "   ";
/** The characters of a text as a reader counts them. Escape sequences must be gone. */
export declare function graphemes(text: string): string[];
/** Finds the graphemes of a text. */
export declare function getSegmenter(): Intl.Segmenter;
/** The text with what is drawn for tabs. */
export declare function replaceTabs(text: string): string;
/** The columns of one grapheme. */
export declare function graphemeWidth(grapheme: string): number;
/** Whether every character is one of ASCII that is seen. */
export declare function isPlain(text: string): boolean;
/** The columns of a text that may hold escape sequences. */
export declare function visibleWidth(text: string): number;
/** The text without escape sequences. */
export declare function stripEscapes(text: string): string;
