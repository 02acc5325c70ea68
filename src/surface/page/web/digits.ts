// JSON that keeps all digits of numbers: `Number` would lose those of long ones.

/** A number as it was written. */
export class Digits {
  constructor(readonly source: string) {}

  toString(): string {
    return this.source;
  }
}

/** Parses JSON and keeps the digits of long numbers, if the browser supports that. */
export function parse(text: string): unknown {
  const revive = (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    return typeof value === "number" && source !== undefined && String(value) !== source
      ? new Digits(source)
      : value;
  };
  return JSON.parse(text, revive as any);
}

/** Writes a value as JSON with its digits. `indent` spaces put each part on its own line. */
export function stringify(value: unknown, indent = 0): string {
  return write(value, indent, "\n") ?? "null";
}

function write(value: unknown, indent: number, line: string): string | undefined {
  if (value instanceof Digits) return value.source;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const isList = Array.isArray(value);
  const below = line + " ".repeat(indent);
  const colon = indent > 0 ? ": " : ":";
  const parts = isList
    ? value.map((one) => write(one, indent, below) ?? "null")
    : Object.entries(value).flatMap(([key, one]) => {
        const text = write(one, indent, below);
        return text === undefined ? [] : [`${JSON.stringify(key)}${colon}${text}`];
      });
  const [open, close] = isList ? "[]" : "{}";
  if (parts.length === 0) return `${open}${close}`;
  if (indent === 0) return `${open}${parts.join(",")}${close}`;
  return `${open}${below}${parts.join(`,${below}`)}${line}${close}`;
}
