export declare const DEFAULT_MAX_LINES = 2000;
export declare const DEFAULT_MAX_BYTES: number;
export declare const GREP_MAX_LINE_LENGTH = 500;
export interface TruncationOptions {
    maxLines?: number;
    maxBytes?: number;
}
export interface TruncationResult {
    content: string;
    truncated: boolean;
    truncatedBy: "lines" | "bytes" | null;
    totalLines: number;
    totalBytes: number;
    outputLines: number;
    outputBytes: number;
    /** Only part of the last line (or, from the tail, of the first) is there. */
    lastLinePartial: boolean;
    /** The first line alone is over the limit, so nothing of it is there. */
    firstLineExceedsLimit: boolean;
    maxLines: number;
    maxBytes: number;
}
/** The beginning of `content`, in whole lines. */
export declare function truncateHead(content: string, options?: TruncationOptions): TruncationResult;
/** The end of `content`, in whole lines; of a last line that is too long, its end. */
export declare function truncateTail(content: string, options?: TruncationOptions): TruncationResult;
/** One line, cut at so many characters. */
export declare function truncateLine(line: string, maxChars?: number): {
    text: string;
    wasTruncated: boolean;
};
/** `1536` → `1.5KB`. */
export declare function formatSize(bytes: number): string;
