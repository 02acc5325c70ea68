// Reads a wire schema: the parts that apply to a value, the optional keys, the types that fit.
//
// This is not a validator and never decides whether arguments are valid: it finds the schema of a
// place in the arguments, through `$ref`, `allOf` and unions, for repairing and filling in arguments.

import { isSchemaObject, type Schema } from "ext:haft/20_schema_copy.ts";

const { isArray } = Array;
const { isInteger } = Number;
const { hasOwn } = Object;
const decodeUri = decodeURIComponent;

/** A key of an object or an index of a list. */
export type Step = string | number;

// A reference can lead in a circle; real schemas have a handful of parts.
const MAX_PARTS = 64;

/** Every schema that holds for a value besides the unions: `node`, what it refers to, its `allOf`. */
export function partsOf(root: Schema, node: unknown, parts: Schema[] = []): Schema[] {
  if (!isSchemaObject(node) || parts.includes(node) || parts.length >= MAX_PARTS) return parts;
  parts.push(node);
  if (typeof node["$ref"] === "string") partsOf(root, referred(root, node["$ref"]), parts);
  if (isArray(node["allOf"])) for (const part of node["allOf"]) partsOf(root, part, parts);
  return parts;
}

/** Target of a `#/…` reference. */
function referred(root: Schema, reference: string): unknown {
  if (!reference.startsWith("#")) return undefined;
  let node: unknown = root;
  for (const step of reference.slice(1).split("/").slice(1)) {
    const key = unescapeStep(decoded(step));
    if (typeof node !== "object" || node === null || !hasOwn(node, key)) return undefined;
    node = (node as Schema)[key];
  }
  return node;
}

function decoded(step: string): string {
  try {
    return decodeUri(step);
  } catch {
    return step;
  }
}

/** A step of a JSON pointer as a key. */
export function unescapeStep(step: string): string {
  return step.includes("~") ? step.replaceAll("~1", "/").replaceAll("~0", "~") : step;
}

/** The branches of every union among `parts`, one list for each union. */
export function unionsOf(parts: Schema[]): unknown[][] {
  const unions: unknown[][] = [];
  for (const part of parts) {
    if (isArray(part["anyOf"])) unions.push(part["anyOf"]);
    if (isArray(part["oneOf"])) unions.push(part["oneOf"]);
  }
  return unions;
}

/** The schema that some part declares for `key`, not counting patterns. */
export function declared(parts: Schema[], key: string): unknown {
  for (const part of parts) {
    const properties = part["properties"];
    if (isSchemaObject(properties) && hasOwn(properties, key)) return properties[key];
  }
  return undefined;
}

export function isRequired(parts: Schema[], key: string): boolean {
  return parts.some((part) => isArray(part["required"]) && part["required"].includes(key));
}

/** True if the parts allow no keys but the declared ones. */
export function isClosed(parts: Schema[]): boolean {
  return parts.some(
    (part) => part["additionalProperties"] === false || part["unevaluatedProperties"] === false,
  );
}

/** The schema for the item at `index`. */
export function itemOf(parts: Schema[], index: number): unknown {
  for (const part of parts) {
    const tuple = part["prefixItems"];
    if (isArray(tuple) && index < tuple.length) return tuple[index];
    if (isSchemaObject(part["items"])) return part["items"];
  }
  return undefined;
}

/** The schema for a key: declared, by pattern, or the one for all others. */
export function propertyOf(parts: Schema[], key: string): unknown {
  const named = declared(parts, key);
  if (named !== undefined) return named;
  for (const part of parts) {
    const patterns = part["patternProperties"];
    if (!isSchemaObject(patterns)) continue;
    for (const pattern of Object.keys(patterns))
      if (matches(pattern, key)) return patterns[pattern];
  }
  return parts.find((part) => isSchemaObject(part["additionalProperties"]))?.[
    "additionalProperties"
  ];
}

function matches(pattern: string, key: string): boolean {
  try {
    return new RegExp(pattern, "u").test(key);
  } catch {
    return false;
  }
}

/** Every schema that may hold for the value at `path`, all branches of unions included. */
export function nodesAt(root: Schema, path: readonly Step[]): Schema[] {
  let nodes = withBranches(root, [root]);
  for (const step of path) {
    const below: unknown[] = [];
    for (const node of nodes) {
      below.push(propertyOf([node], String(step)));
      if (typeof step === "number") below.push(itemOf([node], step));
    }
    nodes = withBranches(root, below);
  }
  return nodes;
}

function withBranches(root: Schema, nodes: unknown[]): Schema[] {
  const all: Schema[] = [];
  const waiting = [...nodes];
  while (waiting.length > 0 && all.length < MAX_PARTS) {
    for (const part of partsOf(root, waiting.shift())) {
      if (all.includes(part)) continue;
      all.push(part);
      for (const branches of unionsOf([part])) waiting.push(...branches);
    }
  }
  return all;
}

/** The names of the types that some of `nodes` ask for. */
export function typesOf(nodes: Schema[]): string[] {
  const types: string[] = [];
  for (const node of nodes) {
    if (isArray(node["type"])) types.push(...node["type"]);
    else if (typeof node["type"] === "string") types.push(node["type"]);
  }
  return types;
}

/** True if a JSON value is of one of `types`. */
export function isOfType(value: unknown, types: string[]): boolean {
  if (typeof value === "number" && isInteger(value) && types.includes("integer")) return true;
  if (value === null) return types.includes("null");
  return types.includes(isArray(value) ? "array" : typeof value);
}

/** True if `value` looks like what `branch` describes: its required keys and fixed values. */
export function fits(root: Schema, branch: unknown, value: Schema): boolean {
  const parts = partsOf(root, branch);
  const types = typesOf(parts);
  if (types.length > 0 && !types.includes("object")) return false;
  return parts.every((part) => requiredPresent(root, part, value) && fixedEqual(part, value));
}

function requiredPresent(root: Schema, part: Schema, value: Schema): boolean {
  const required: unknown[] = isArray(part["required"]) ? part["required"] : [];
  return required.every((key) => {
    if (typeof key !== "string" || !hasOwn(value, key)) return false;
    if (value[key] !== null) return true;
    const types = typesOf(withBranches(root, [declared([part], key)]));
    return types.length === 0 || types.includes("null");
  });
}

function fixedEqual(part: Schema, value: Schema): boolean {
  const properties: Schema = isSchemaObject(part["properties"]) ? part["properties"] : {};
  return Object.keys(properties).every((key) => {
    const property = properties[key];
    if (!isSchemaObject(property) || !hasOwn(value, key)) return true;
    if (hasOwn(property, "const")) return property["const"] === value[key];
    return !isArray(property["enum"]) || property["enum"].includes(value[key]);
  });
}
