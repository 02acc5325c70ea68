// Repairs arguments that were refused, guided by what was found (spec omp 7, seed era).
//
// Three repairs and no more: a string that is JSON of the expected type becomes that value, an
// optional empty string goes, keys that nothing declares go. No guessing: numbers and booleans are
// not turned into strings, single values not into lists, and no JSON is healed.

import { isSchemaObject, type Schema } from "ext:haft/20_schema_copy.ts";
import {
  declared,
  isOfType,
  isRequired,
  nodesAt,
  propertyOf,
  type Step,
  typesOf,
} from "ext:haft/20_schema_nodes.ts";
import { without } from "ext:haft/21_arg_fill.ts";
import type { Finding } from "ext:haft/21_arg_validate.ts";

const { isArray } = Array;
const { isInteger, isSafeInteger } = Number;
const { keys, hasOwn } = Object;
const parse = JSON.parse;

/** The repaired value; the same one if it needs no repair. */
export function repaired(root: Schema, value: unknown, findings: readonly Finding[]): unknown {
  let result = value;
  for (const finding of findings) {
    result = changedAt(result, finding.path, 0, (found) => {
      if (finding.unknownKeys !== undefined) return withoutUnknown(root, found, finding);
      return typeof found === "string" ? fromString(root, found, finding.path) : found;
    });
  }
  return result;
}

// What `change` answers to say that the key should go.
const GONE = Symbol("gone");

function changedAt(
  value: unknown,
  path: readonly Step[],
  depth: number,
  change: (found: unknown) => unknown,
): unknown {
  if (depth === path.length) return change(value);
  const step = path[depth] as Step;
  if (typeof value !== "object" || value === null || !hasOwn(value, step)) return value;
  const before = (value as Schema)[step];
  const after = changedAt(before, path, depth + 1, change);
  if (after === before) return value;
  if (after === GONE) return without(value as Schema, String(step));
  const copy: any = isArray(value) ? [...value] : { ...value };
  copy[step] = after;
  return copy;
}

function withoutUnknown(root: Schema, found: unknown, finding: Finding): unknown {
  if (!isSchemaObject(found)) return found;
  const unknown = finding.unknownKeys as string[];
  const dropped = unknown.length > 0 ? unknown : undeclared(nodesAt(root, finding.path), found);
  let left = found;
  for (const key of dropped) if (hasOwn(left, key)) left = without(left, key);
  return left;
}

function undeclared(nodes: Schema[], found: Schema): string[] {
  return keys(found).filter((key) => !nodes.some((node) => propertyOf([node], key) !== undefined));
}

function fromString(root: Schema, text: string, path: readonly Step[]): unknown {
  if (text === "" && isOptional(root, path)) return GONE;
  const start = text.trimStart()[0];
  if (start === undefined || !'{["-0123456789tfn'.includes(start)) return text;
  const types = typesOf(nodesAt(root, path));
  let parsed: unknown;
  try {
    parsed = parse(text);
  } catch {
    return text;
  }
  if (typeof parsed === "string" || !isOfType(parsed, types)) return text;
  // 9007199254740993 would arrive as another number.
  return isInteger(parsed) && !isSafeInteger(parsed) ? text : parsed;
}

function isOptional(root: Schema, path: readonly Step[]): boolean {
  const key = path[path.length - 1];
  if (typeof key !== "string") return false;
  const parents = nodesAt(root, path.slice(0, -1));
  return declared(parents, key) !== undefined && !isRequired(parents, key);
}
