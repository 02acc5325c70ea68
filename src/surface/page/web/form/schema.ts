// Prepares JSON Schema for a form: resolves references, merges `allOf`, and determines the kind of
// each node.

import { Digits, stringify } from "../digits.ts";

export type Schema = { [keyword: string]: any };

export type Kind =
  | "const"
  | "enum"
  | "union"
  | "string"
  | "number"
  | "integer"
  | "boolean"
  | "null"
  | "object"
  | "array"
  | "any";

/** Limit of the steps while resolving a node. It ends circular references. */
const MOST_STEPS = 32;

/** A schema with its definitions. */
export class Schemas {
  constructor(private readonly root: Schema) {}

  /** Resolves a node: the result has no `$ref`, no `allOf`, and is not `true`. */
  resolve(schema: unknown): Schema {
    let node = asSchema(schema);
    for (let step = 0; step < MOST_STEPS; step++) {
      if (typeof node["$ref"] === "string") {
        const { $ref, ...beside } = node;
        node = { ...this.lookUp($ref), ...beside };
      } else if (Array.isArray(node["allOf"])) {
        const { allOf, ...beside } = node;
        node = allOf.map((part: unknown) => this.resolve(part)).reduce(merge, beside);
      } else {
        return node;
      }
    }
    return {};
  }

  /**
   * Returns the variants of a union without null. Keywords beside the union are merged into each
   * variant.
   */
  variants(node: Schema): { variants: Schema[]; nullable: boolean } {
    const { anyOf, oneOf, type, ...beside } = node;
    const listed: unknown[] = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : [];
    const typed = listed.length > 0 ? listed : types(node).map((name) => ({ type: name }));
    const { title: _title, description: _description, default: _default, ...shared } = beside;
    const all = typed.map((variant) => merge(shared, this.resolve(variant)));
    const variants = all.filter((variant) => kindOf(variant) !== "null");
    return { variants, nullable: variants.length < all.length };
  }

  private lookUp(reference: string): Schema {
    if (!reference.startsWith("#")) return {};
    let node: unknown = this.root;
    for (const part of reference.slice(1).split("/").filter(Boolean)) {
      const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      node = isRecord(node) && Object.hasOwn(node, key) ? node[key] : undefined;
    }
    return asSchema(node);
  }
}

/** Returns the kind of control that a resolved node needs. */
export function kindOf(node: Schema): Kind {
  if ("const" in node) return node["const"] === null ? "null" : "const";
  if (Array.isArray(node["enum"])) return "enum";
  if (isUnion(node)) return "union";
  const [type] = types(node);
  if (type !== undefined) return isKind(type) ? type : "any";
  if (isRecord(node["properties"]) || isRecord(node["additionalProperties"])) return "object";
  if (node["items"] !== undefined || node["prefixItems"] !== undefined) return "array";
  return "any";
}

function isUnion(node: Schema): boolean {
  if (types(node).length > 1) return true;
  const listed = node["anyOf"] ?? node["oneOf"];
  if (!Array.isArray(listed) || listed.length === 0) return false;
  // `anyOf` with only `required` describes which keys belong together, not the type of the value.
  const says = (part: any) =>
    isRecord(part) && Object.keys(part).some((key) => key !== "required" && key !== "not");
  return listed.some(says);
}

/** Returns the name of a node in a list of variants. */
export function titleOf(node: Schema, schemas: Schemas): string {
  if (typeof node["title"] === "string") return node["title"];
  const kind = kindOf(node);
  if (kind === "const") return show(node["const"]);
  if (kind === "enum") return node["enum"].map(show).join(" | ");
  if (kind === "object" && isRecord(node["properties"])) {
    const fixed = Object.entries(node["properties"])
      .map(([name, part]) => ({ name, part: schemas.resolve(part) }))
      .find(({ part }) => "const" in part);
    if (fixed) return `${fixed.name}: ${show(fixed.part["const"])}`;
    const names = Object.keys(node["properties"]);
    if (names.length > 0)
      return `{ ${names.slice(0, 3).join(", ")}${names.length > 3 ? ", …" : ""} }`;
  }
  if (kind === "array") return `list of ${titleOf(schemas.resolve(node["items"] ?? {}), schemas)}`;
  if (kind === "any") return "any JSON";
  return kind;
}

/** Returns true if a value may belong to a node. This selects a variant; it does not validate. */
export function fits(value: unknown, node: Schema, schemas: Schemas): boolean {
  switch (kindOf(node)) {
    case "const":
      return same(value, node["const"]);
    case "enum":
      return node["enum"].some((one: unknown) => same(one, value));
    case "union": {
      const { variants, nullable } = schemas.variants(node);
      return (value === null && nullable) || variants.some((one) => fits(value, one, schemas));
    }
    case "string":
    case "boolean":
      return typeof value === kindOf(node);
    case "number":
      return typeof value === "number" || value instanceof Digits;
    case "integer":
      return Number.isInteger(value instanceof Digits ? Number(value.source) : value);
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object": {
      if (!isRecord(value)) return false;
      const required: string[] = Array.isArray(node["required"]) ? node["required"] : [];
      const parts = Object.entries(node["properties"] ?? {});
      return (
        required.every((name) => Object.hasOwn(value, name)) &&
        parts.every(([name, part]) => {
          const resolved = schemas.resolve(part);
          return !("const" in resolved) || same(value[name], resolved["const"]);
        })
      );
    }
    case "any":
      return true;
  }
}

/** Returns the initial value of a node: its default, or its constant. */
export function initial(node: Schema): unknown {
  if ("default" in node) return node["default"];
  return "const" in node ? node["const"] : undefined;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject && !(value instanceof Digits);
}

export function same(one: unknown, other: unknown): boolean {
  return stringify(one) === stringify(other);
}

function asSchema(schema: unknown): Schema {
  return isRecord(schema) ? schema : {};
}

function types(node: Schema): string[] {
  const type = node["type"];
  if (typeof type === "string") return [type];
  return Array.isArray(type) ? type.filter((name) => typeof name === "string") : [];
}

function isKind(type: string): type is Kind {
  return ["string", "number", "integer", "boolean", "null", "object", "array"].includes(type);
}

function merge(one: Schema, other: Schema): Schema {
  const merged: Schema = { ...one, ...other };
  if (isRecord(one["properties"]) && isRecord(other["properties"])) {
    merged["properties"] = { ...one["properties"], ...other["properties"] };
  }
  if (Array.isArray(one["required"]) && Array.isArray(other["required"])) {
    merged["required"] = [...new Set([...one["required"], ...other["required"]])];
  }
  return merged;
}

function show(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
