/** The lines of `text` at `width` columns, broken at spaces where that is possible. */
export declare function wrapTextWithAnsi(text: string, width: number): string[];
/**
 * `text` in at most `maxWidth` columns. What is cut off is replaced by `ellipsis`; `pad` fills up
 * with spaces.
 */
export declare function truncateToWidth(text: string, maxWidth: number, ellipsis?: string, pad?: boolean): string;
