// YAML and TOML for `Bun.YAML` and `Bun.TOML`, which few tools use.

import * as toml from "smol-toml";
import * as yaml from "yaml";

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
