// Which tools are offered, and under which names.

import { HaftError } from "./errors.js";

/** Patterns of tool names with `*`, `?`, `[abc]`, `[!abc]` and `{one,two}`. */
export interface Selected {
  include?: string | readonly string[];
  exclude?: string | readonly string[];
}

/** Returns a function that decides whether a tool is selected. */
export function selector({ include, exclude }: Selected): (name: string) => boolean {
  const included = list(include).map(matcher);
  const excluded = list(exclude).map(matcher);
  return (name) =>
    (included.length === 0 || included.some((matches) => matches(name))) &&
    !excluded.some((matches) => matches(name));
}

export function list(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === "string" ? [value] : value;
}

/** Compiles a pattern. */
export function matcher(pattern: string): (name: string) => boolean {
  let source = "";
  let depth = 0;
  for (let at = 0; at < pattern.length; at++) {
    const char = pattern[at]!;
    const close = char === "[" ? pattern.indexOf("]", at + 2) : -1;
    if (char === "*") source += ".*";
    else if (char === "?") source += ".";
    else if (char === "{") {
      depth++;
      source += "(?:";
    } else if (char === "}" && depth > 0) {
      depth--;
      source += ")";
    } else if (char === "," && depth > 0) source += "|";
    else if (close > 0) {
      const set = pattern
        .slice(at + 1, close)
        .replace(/^!/, "^")
        .replace(/\\/g, "\\\\");
      source += `[${set}]`;
      at = close;
    } else source += char.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  }
  try {
    const regex = new RegExp(`^(?:${source})$`, "su");
    return (name) => regex.test(name);
  } catch (error) {
    throw new HaftError(
      "usage",
      `\`${pattern}\` is not a pattern of tool names`,
      "a pattern is a name with `*`, `?`, `[abc]` or `{one,two}` in it",
      error,
    );
  }
}

/** Returns names that every model provider accepts: 1 to 64 letters, digits, `_`, `-`. Others get an alias. */
export function providerNames(names: readonly string[]): Map<string, string> {
  const isValid = (name: string) => /^[a-zA-Z0-9_-]{1,64}$/.test(name);
  const taken = new Set(names.filter(isValid));
  const aliases = new Map<string, string>();
  for (const name of names) {
    let alias = name;
    if (!isValid(name)) {
      const base = name.replace(/[^a-zA-Z0-9_-]/gu, "_").slice(0, 60) || "tool";
      alias = base;
      for (let number = 2; taken.has(alias); number++) alias = `${base}_${number}`;
      taken.add(alias);
    }
    aliases.set(name, alias);
  }
  return aliases;
}
