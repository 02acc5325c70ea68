// What arguments get from the wire schema before they are checked: placeholders go, defaults come.
//
// Models write `null` or "null" for "nothing" (spec omp 7, step 3). Everything here copies on
// write: arguments without placeholders come back as the same object, in the same key order.

import { isSchemaObject, put, type Schema } from "ext:haft/20_schema_copy.ts";
import {
  declared,
  fits,
  isClosed,
  isRequired,
  itemOf,
  partsOf,
  propertyOf,
  unionsOf,
} from "ext:haft/20_schema_nodes.ts";

const { isArray } = Array;
const { keys, hasOwn } = Object;

// A default may bring an object whose schema has defaults again, without an end.
const MAX_DEFAULTS = 10_000;
const MAX_DEPTH = 64;

/** One run over the arguments. */
interface Filling {
  readonly root: Schema;
  /** Number of defaults that may still be filled in. */
  left: number;
}

/** True if some value below may be a placeholder. Cheap: most arguments have none. */
export function mayHoldPlaceholder(value: unknown): boolean {
  if (value === null || value === "null") return true;
  if (typeof value !== "object") return false;
  for (const key of keys(value)) if (mayHoldPlaceholder((value as Schema)[key])) return true;
  return false;
}

/** `value` without the placeholders of optional keys. */
export function withoutPlaceholders(root: Schema, value: unknown): unknown {
  return clean(root, root, value, false);
}

function clean(root: Schema, node: unknown, value: unknown, nested: boolean): unknown {
  if (typeof value !== "object" || value === null) return value;
  const parts = partsOf(root, node);
  if (isArray(value)) {
    return mapped(value, (item, index) => clean(root, itemOf(parts, index), item, true));
  }
  let cleaned = value as Schema;
  for (const key of keys(cleaned)) {
    const field = cleaned[key];
    if (isPlaceholder(parts, key, field, nested)) cleaned = without(cleaned, key);
    else cleaned = withField(cleaned, key, clean(root, propertyOf(parts, key), field, true));
  }
  for (const branches of unionsOf(parts)) {
    const branch = branches.find((candidate) => fits(root, candidate, cleaned));
    if (branch !== undefined) cleaned = clean(root, branch, cleaned, nested) as Schema;
  }
  return cleaned;
}

function isPlaceholder(parts: Schema[], key: string, field: unknown, nested: boolean): boolean {
  if (field !== null && field !== "null") return false;
  const property = declared(parts, key);
  // zod would strip an unknown null of a nested object; a closed JSON Schema would refuse it.
  if (property === undefined) return nested && field === null && isClosed(parts);
  return !isRequired(parts, key) && !namesNull(property, field);
}

// An author who lists "null" among the choices means it.
function namesNull(property: unknown, field: unknown): boolean {
  if (field === null || !isSchemaObject(property)) return false;
  return (
    property["const"] === field || (isArray(property["enum"]) && property["enum"].includes(field))
  );
}

/** `value` with the defaults of missing keys, nested ones too; for schemas that fill in nothing themselves. */
export function withDefaults(root: Schema, value: unknown): unknown {
  return fill({ root, left: MAX_DEFAULTS }, root, value, 0);
}

function fill(filling: Filling, node: unknown, value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  const parts = partsOf(filling.root, node);
  if (isArray(value)) {
    return mapped(value, (item, index) => fill(filling, itemOf(parts, index), item, depth + 1));
  }
  let filled = withMissing(filling, parts, value as Schema);
  for (const key of keys(filled)) {
    filled = withField(filled, key, fill(filling, propertyOf(parts, key), filled[key], depth + 1));
  }
  for (const branches of unionsOf(parts)) {
    const fitting = branches.filter((branch) => fits(filling.root, branch, filled));
    // With two candidates it is undecidable whose defaults apply.
    if (fitting.length === 1) filled = fill(filling, fitting[0], filled, depth + 1) as Schema;
  }
  return filled;
}

function withMissing(filling: Filling, parts: Schema[], value: Schema): Schema {
  let filled = value;
  for (const part of parts) {
    if (!isSchemaObject(part["properties"])) continue;
    for (const key of keys(part["properties"])) {
      if (hasOwn(filled, key) || filling.left <= 0) continue;
      const source = partsOf(filling.root, part["properties"][key]).find((own) =>
        hasOwn(own, "default"),
      );
      if (source === undefined) continue;
      filling.left -= 1;
      filled = withField(filled, key, copied(source["default"]));
    }
  }
  return filled;
}

// Each call gets its own: tools change what they are given.
function copied(value: unknown): unknown {
  if (isArray(value)) return value.map(copied);
  if (!isSchemaObject(value)) return value;
  const copy: Schema = {};
  for (const key of keys(value)) put(copy, key, copied(value[key]));
  return copy;
}

/** The object with `key` set; the same object if that changes nothing. */
export function withField(object: Schema, key: string, field: unknown): Schema {
  if (hasOwn(object, key) && object[key] === field) return object;
  const changed = { ...object };
  put(changed, key, field);
  return changed;
}

/** The object without `key`; the others keep their order. */
export function without(object: Schema, key: string): Schema {
  const changed = { ...object };
  delete changed[key];
  return changed;
}

function mapped(list: unknown[], change: (item: unknown, index: number) => unknown): unknown[] {
  let result = list;
  for (let index = 0; index < list.length; index++) {
    const item = change(list[index], index);
    if (item === list[index]) continue;
    if (result === list) result = [...list];
    result[index] = item;
  }
  return result;
}
