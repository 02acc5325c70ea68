// Hides secret arguments where they are shown, copied or linked.

import { parse, stringify } from "./digits.ts";
import { isRecord, type Schema, Schemas } from "./form/schema.ts";

const HIDDEN = "***";
/** Limit of the depth, since a schema may contain itself. */
const DEEPEST = 12;

/** Returns true if the schema marks its value as a secret. */
export function isSecret(node: Schema): boolean {
  return node["format"] === "password" || node["writeOnly"] === true;
}

/** Returns the arguments, as JSON text, with `***` in place of secrets. */
export function withoutSecrets(text: string, schema: unknown): string {
  const root: Schema = isRecord(schema) ? schema : {};
  const schemas = new Schemas(root);
  let value: unknown;
  try {
    value = parse(text);
  } catch {
    return text;
  }
  const secrets = new Set<string>();
  const hidden = hide(value, root, schemas, secrets, 0);
  if (secrets.size === 0) return text;
  // Replaced in the text itself, so that numbers keep their digits.
  let shown = text;
  for (const secret of secrets) shown = shown.replaceAll(secret, JSON.stringify(HIDDEN));
  const again = new Set<string>();
  hide(parse(shown), root, schemas, again, 0);
  return [...again].every((left) => left === JSON.stringify(HIDDEN)) ? shown : stringify(hidden);
}

function hide(
  value: unknown,
  schema: unknown,
  schemas: Schemas,
  secrets: Set<string>,
  depth: number,
): unknown {
  const node = schemas.resolve(schema);
  if (isSecret(node)) {
    secrets.add(stringify(value));
    return HIDDEN;
  }
  if (depth > DEEPEST) return value;
  const below = (part: unknown, of: unknown) => hide(part, of, schemas, secrets, depth + 1);
  if (Array.isArray(value)) {
    return value.map((one, index) => below(one, node["prefixItems"]?.[index] ?? node["items"]));
  }
  if (!isRecord(value)) return value;
  const variants = schemas.variants(node).variants;
  const entries = Object.entries(value).map(([key, one]) => {
    const declared = [node, ...variants].map((part) => part["properties"]?.[key]);
    return [key, below(one, declared.find(Boolean) ?? node["additionalProperties"])];
  });
  return Object.fromEntries(entries);
}
