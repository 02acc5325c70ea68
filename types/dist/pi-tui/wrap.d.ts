/** Lines, and how wide each is. */
export declare class Lines {
    readonly texts: string[];
    readonly widths: number[];
    push(text: string, width: number): void;
    pop(): void;
    /** Puts `margin` before every line from `first` on. */
    indent(first: number, margin: string): void;
    get length(): number;
}
/** The lines of `text` at `width` columns, broken at spaces where that is possible. */
export declare function wrapTextWithAnsi(text: string, width: number): string[];
/** The same, added to `lines`. */
export declare function wrapInto(lines: Lines, text: string, width: number): void;
/**
 * `text` in at most `maxWidth` columns. What is cut off is replaced by `ellipsis`; `pad` fills up
 * with spaces.
 */
export declare function truncateToWidth(text: string, maxWidth: number, ellipsis?: string | number | null, pad?: boolean | null): string;
/** The columns from `start` on, `length` of them, with the styles that are on there. */
export declare function sliceByColumn(line: string, start: number, length: number, strict?: boolean): string;
/** The same with the width of what is there. A wide character at an edge counts unless `strict`. */
export declare function sliceWithWidth(line: string, start: number, length: number, strict?: boolean | null): {
    text: string;
    width: number;
};
