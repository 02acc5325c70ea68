// Output cut to what a model should read: so many lines, so many bytes, whole lines where possible.
//
// The limits count UTF-8 bytes. A cut never splits a character.

export const DEFAULT_MAX_LINES = 2000;
export const DEFAULT_MAX_BYTES = 50 * 1024;
export const GREP_MAX_LINE_LENGTH = 500;

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
export function truncateHead(content: string, options: TruncationOptions = {}): TruncationResult {
  const lines = content.split("\n");
  const { kept, by } = fitting(lines, options);
  const firstLineExceedsLimit = by === "bytes" && kept.length === 0;
  return result(content, lines, by === null ? content : kept.join("\n"), options, {
    truncatedBy: by,
    firstLineExceedsLimit,
  });
}

/** The end of `content`, in whole lines; of a last line that is too long, its end. */
export function truncateTail(content: string, options: TruncationOptions = {}): TruncationResult {
  const lines = content.split("\n");
  const { kept, by } = fitting(lines.toReversed(), options);
  if (by === "bytes" && kept.length === 0) {
    const end = lastBytes(lines.at(-1) ?? "", options.maxBytes ?? DEFAULT_MAX_BYTES);
    return result(content, lines, end, options, { truncatedBy: by, lastLinePartial: true });
  }
  const text = by === null ? content : kept.toReversed().join("\n");
  return result(content, lines, text, options, { truncatedBy: by });
}

/** One line, cut at so many characters. */
export function truncateLine(
  line: string,
  maxChars = GREP_MAX_LINE_LENGTH,
): { text: string; wasTruncated: boolean } {
  if (line.length <= maxChars) return { text: line, wasTruncated: false };
  return {
    text: `${line.slice(0, maxChars).replace(/[\ud800-\udbff]$/, "")}... [truncated]`,
    wasTruncated: true,
  };
}

/** `1536` → `1.5KB`. */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes}B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)}KB`;
  return `${(bytes / (1024 * 1024)).toFixed(1)}MB`;
}

function fitting(
  lines: string[],
  options: TruncationOptions,
): { kept: string[]; by: "lines" | "bytes" | null } {
  const { maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES } = options;
  const kept: string[] = [];
  let bytes = 0;
  for (const line of lines) {
    if (kept.length >= maxLines) return { kept, by: "lines" };
    bytes += byteLength(line) + (kept.length > 0 ? 1 : 0);
    if (bytes > maxBytes) return { kept, by: "bytes" };
    kept.push(line);
  }
  return { kept, by: null };
}

function result(
  content: string,
  lines: string[],
  output: string,
  { maxLines = DEFAULT_MAX_LINES, maxBytes = DEFAULT_MAX_BYTES }: TruncationOptions,
  outcome: Partial<TruncationResult>,
): TruncationResult {
  return {
    content: output,
    truncated: (outcome.truncatedBy ?? null) !== null,
    truncatedBy: null,
    totalLines: lines.length,
    totalBytes: byteLength(content),
    outputLines: output === "" && content !== "" ? 0 : output.split("\n").length,
    outputBytes: byteLength(output),
    lastLinePartial: false,
    firstLineExceedsLimit: false,
    maxLines,
    maxBytes,
    ...outcome,
  };
}

function byteLength(text: string): number {
  return new TextEncoder().encode(text).length;
}

function lastBytes(text: string, count: number): string {
  const bytes = new TextEncoder().encode(text);
  let start = Math.max(0, bytes.length - count);
  while (start < bytes.length && ((bytes[start] as number) & 0xc0) === 0x80) start++;
  return new TextDecoder().decode(bytes.subarray(start));
}
