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
