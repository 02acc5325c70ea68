export declare const ESCAPE = "\u001B";
/** The sequence that begins at `at`, where `text` has an ESC. */
export declare function nextEscape(text: string, at: number): string;
/** The styles and the hyperlink that are on after the sequences seen so far. */
export declare class StyleState {
    #private;
    /** Takes note of one escape sequence. */
    see(sequence: string): void;
    /** Turns everything on again that is on now. */
    open(): string;
    /** Turns everything off that is on, and nothing else. */
    close(): string;
}
/**
 * The columns of a character that stands alone, whatever is beside it: no mark, no emoji, nothing that
 * joins. 0 if it may not.
 */
export declare function simpleWidth(code: number): number;
/** The columns of a text of such characters in colours, or -1 if it is not that or leaves a style on. */
export declare function widthOfClosed(text: string): number;
