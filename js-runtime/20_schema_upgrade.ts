// Rewrites schemas in place: older drafts to 2020-12, and every schema to the form that models get.
//
// Only positions that hold schemas are touched. `properties: {nullable: …}` or an `enum` value that
// looks like a schema stay as they are, and so do keywords that we do not know.

import { isSchemaObject, put, type Schema, SchemaError } from "ext:haft/20_schema_copy.ts";

const { isArray } = Array;
const { keys, hasOwn } = Object;
const { MAX_SAFE_INTEGER, MIN_SAFE_INTEGER } = Number;

const DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema";

const TYPES = ["null", "boolean", "object", "array", "number", "integer", "string"];

type Holds = "one" | "list" | "map";

/** Keywords of a schema that contain schemas. `items` and `dependencies` have older forms too. */
const POSITIONS: Record<string, Holds | undefined> = Object.create(null);
for (const [holds, keywords] of [
  ["one", "additionalProperties unevaluatedProperties propertyNames contentSchema"],
  ["one", "items additionalItems unevaluatedItems contains not if then else"],
  ["list", "anyOf oneOf allOf prefixItems"],
  ["map", "properties patternProperties dependentSchemas dependencies $defs definitions"],
] as const) {
  for (const keyword of keywords.split(" ")) POSITIONS[keyword] = holds;
}

/** Puts `change(node)` in the place of every schema below `node`, leaves first, then of `node`. */
function rewrite(node: unknown, change: (node: Schema) => unknown): unknown {
  if (!isSchemaObject(node)) return node;
  for (const key of keys(node)) {
    const held = node[key];
    const holds = POSITIONS[key];
    if (holds === undefined || typeof held !== "object" || held === null) continue;
    if (isArray(held)) rewriteList(held, change);
    else if (holds === "map") rewriteMap(held, change);
    else if (holds === "one") node[key] = rewrite(held, change);
  }
  return change(node);
}

function rewriteList(list: unknown[], change: (node: Schema) => unknown): void {
  for (let index = 0; index < list.length; index++) list[index] = rewrite(list[index], change);
}

function rewriteMap(map: Schema, change: (node: Schema) => unknown): void {
  for (const key of keys(map)) put(map, key, rewrite(map[key], change));
}

/** The steps that every wire schema goes through (spec omp 7.1). */
export function normaliseSchema(root: Schema): Schema {
  return rewrite(root, (node) => {
    dropSafeIntegerBounds(node);
    dropDefaultedFromRequired(node);
    return node !== root && keys(node).length === 0 ? true : node;
  }) as Schema;
}

function dropSafeIntegerBounds(node: Schema): void {
  if (!hasType(node, "integer")) return;
  if (node["minimum"] === MIN_SAFE_INTEGER) delete node["minimum"];
  if (node["maximum"] === MAX_SAFE_INTEGER) delete node["maximum"];
}

function dropDefaultedFromRequired(node: Schema): void {
  const { required, properties } = node;
  if (!isArray(required)) return;
  const still: unknown[] = [];
  for (const key of required) {
    const property = isSchemaObject(properties) && hasOwn(properties, key) && properties[key];
    const isFilledIn = isSchemaObject(property) && hasOwn(property, "default");
    // Named twice, which validators refuse.
    if (!isFilledIn && !still.includes(key)) still.push(key);
  }
  if (still.length === 0) delete node["required"];
  else node["required"] = still;
}

function hasType(node: Schema, type: string): boolean {
  const types = node["type"];
  return isArray(types) ? types.includes(type) : types === type;
}

/** Brings a schema of any draft, or of TypeBox or OpenAPI, to draft 2020-12. */
export function upgradeSchema(root: Schema): Schema {
  if (typeof root["$schema"] === "string") root["$schema"] = DRAFT_2020_12;
  pointAtNamed(root);
  return rewrite(root, (node) => {
    upgradeReferences(node);
    upgradeTuple(node);
    upgradeBounds(node);
    upgradeDependencies(node);
    upgradeRequired(node);
    upgradeTypes(node);
    return upgradeNullable(node);
  }) as Schema;
}

// TypeBox names a recursive schema with a bare `$id` and refers to it by that name alone. Few
// readers follow that; every reader follows a pointer.
function pointAtNamed(root: Schema): void {
  const places: Record<string, string> = Object.create(null);
  findNamed(root, "#", places);
  if (keys(places).length === 0) return;
  rewrite(root, (node) => {
    const name = node["$ref"];
    if (typeof name === "string" && places[name] !== undefined) node["$ref"] = places[name];
    if (typeof node["$id"] === "string" && places[node["$id"]] !== undefined) delete node["$id"];
    return node;
  });
}

function findNamed(node: unknown, place: string, places: Record<string, string>): void {
  if (typeof node !== "object" || node === null) return;
  const id = (node as Schema)["$id"];
  if (typeof id === "string" && /^\w+$/.test(id)) places[id] = place;
  for (const key of keys(node)) {
    const step = key.replaceAll("~", "~0").replaceAll("/", "~1");
    findNamed((node as Schema)[key], `${place}/${step}`, places);
  }
}

function upgradeReferences(node: Schema): void {
  if (isSchemaObject(node["definitions"])) {
    const named = isSchemaObject(node["$defs"]) ? node["$defs"] : {};
    for (const key of keys(node["definitions"])) {
      if (!hasOwn(named, key)) put(named, key, node["definitions"][key]);
    }
    node["$defs"] = named;
    delete node["definitions"];
  }
  if (typeof node["$ref"] === "string") {
    node["$ref"] = node["$ref"].replaceAll(/(?<!\/properties)\/definitions\//g, "/$defs/");
  }
}

function upgradeTuple(node: Schema): void {
  if (isArray(node["items"])) {
    node["prefixItems"] = node["items"];
    delete node["items"];
    if (hasOwn(node, "additionalItems")) node["items"] = node["additionalItems"];
  }
  delete node["additionalItems"];
}

// Draft 4 wrote `minimum: 1, exclusiveMinimum: true`.
function upgradeBounds(node: Schema): void {
  for (const [bound, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    if (typeof node[exclusive] !== "boolean") continue;
    if (node[exclusive] && hasOwn(node, bound)) {
      node[exclusive] = node[bound];
      delete node[bound];
    } else {
      delete node[exclusive];
    }
  }
}

function upgradeDependencies(node: Schema): void {
  const dependencies = node["dependencies"];
  if (!isSchemaObject(dependencies)) return;
  delete node["dependencies"];
  for (const key of keys(dependencies)) {
    const into = isArray(dependencies[key]) ? "dependentRequired" : "dependentSchemas";
    if (!isSchemaObject(node[into])) node[into] = {};
    put(node[into], key, dependencies[key]);
  }
}

// Draft 3, and many who write by hand, put `required: true` on the property itself.
function upgradeRequired(node: Schema): void {
  const properties = node["properties"];
  if (!isSchemaObject(properties)) return;
  for (const key of keys(properties)) {
    const property = properties[key];
    if (!isSchemaObject(property) || typeof property["required"] !== "boolean") continue;
    const listed: unknown[] = isArray(node["required"]) ? node["required"] : [];
    if (property["required"] && !listed.includes(key)) node["required"] = [...listed, key];
    delete property["required"];
  }
}

function upgradeTypes(node: Schema): void {
  if (!hasOwn(node, "type")) return;
  if (node["type"] === "any") {
    delete node["type"];
    return;
  }
  const types: unknown[] = isArray(node["type"]) ? node["type"] : [node["type"]];
  for (const type of types) {
    if (typeof type === "string" && TYPES.includes(type)) continue;
    const shown = typeof type === "string" ? `"${type}"` : String(type);
    throw new SchemaError(
      `\`parameters\` cannot be sent as JSON Schema: ${shown} is no \`type\`; ` +
        `there are ${TYPES.join(", ")}`,
    );
  }
}

// OpenAPI's `nullable`.
function upgradeNullable(node: Schema): Schema {
  if (typeof node["nullable"] !== "boolean") return node;
  const nullable = node["nullable"];
  delete node["nullable"];
  if (!nullable || hasType(node, "null")) return node;
  if (isArray(node["anyOf"]) && !hasOwn(node, "type")) {
    node["anyOf"] = [...node["anyOf"], { type: "null" }];
    return node;
  }
  if (!hasOwn(node, "type") || hasOwn(node, "const") || hasOwn(node, "$ref")) {
    return { anyOf: [node, { type: "null" }] };
  }
  node["type"] = isArray(node["type"]) ? [...node["type"], "null"] : [node["type"], "null"];
  if (isArray(node["enum"]) && !node["enum"].includes(null)) node["enum"] = [...node["enum"], null];
  return node;
}
