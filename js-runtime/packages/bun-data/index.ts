// Libraries behind members of `Bun` that few tools use: YAML, TOML, patterns for paths, versions.

import picomatch from "picomatch/posix.js";
import * as toml from "smol-toml";
import * as yaml from "yaml";

export { semver } from "./semver.ts";

/** Returns the test for the paths that a pattern of `Bun.Glob` matches. */
export function matcher(pattern: string): (path: string) => boolean {
  if (pattern === "") return (path) => path === "";
  // Bun has no patterns like `@(a|b)`, and names the opposite of a set with `!`.
  return picomatch(pattern.replace(/(?<!\\)\[!/g, "[^"), { dot: true, noextglob: true });
}

export const YAML = {
  /** The document, or an array where there are several. */
  parse(text: string): unknown {
    const documents = yaml.parseAllDocuments(text, { merge: true });
    if (!Array.isArray(documents)) return undefined;
    const values = documents.map((document) => {
      const [error] = document.errors;
      if (error) throw new SyntaxError(`YAML: ${error.message}`);
      return document.toJS();
    });
    return values.length > 1 ? values : (values[0] ?? null);
  },
  stringify: (value: unknown, _replacer?: unknown, space?: number | string): string =>
    yaml.stringify(value, { indent: typeof space === "number" && space > 0 ? space : 2 }),
};

export const TOML = {
  parse(text: string): unknown {
    return plain(toml.parse(text));
  },
};

/** The parser's objects have no prototype, so they would not equal those that tools write. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}
