// Schemas of the program's tools: JSON Schema, TypeBox, and every library with the interface of Standard Schema
// (zod, arktype, valibot).

import { HaftError } from "./errors.js";

/** A JSON Schema as plain data. */
export interface JsonSchema {
  [keyword: string]: any;
}

/** The part of Standard Schema (https://standardschema.dev) that the library uses. */
export interface StandardSchema<Input = any, Output = any> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type Schema = StandardSchema | JsonSchema;

/** The type of the arguments that `execute` gets. */
export type ArgumentsOf<S> =
  S extends StandardSchema<any, infer Output>
    ? Output
    : S extends { static: infer Static }
      ? Static
      : any;

/** Returns the JSON Schema of what a tool accepts. */
export function jsonSchemaOf(schema: any, tool: string): JsonSchema {
  try {
    return plain(converted(schema));
  } catch (error) {
    if (error instanceof HaftError) throw error;
    const text = error instanceof Error ? error.message : String(error);
    throw new HaftError("usage", `the schema of the tool \`${tool}\`: ${text}`, undefined, error);
  }
}

function converted(schema: any): any {
  if (schema === null || (typeof schema !== "object" && typeof schema !== "function")) {
    throw new Error("expected a JSON Schema, or a schema of zod or another library");
  }
  const standard = schema["~standard"];
  if (standard === undefined) return schema;
  if (typeof standard.jsonSchema?.input === "function") {
    return standard.jsonSchema.input({ target: "draft-2020-12" });
  }
  if (typeof schema.toJSONSchema === "function") return schema.toJSONSchema({ io: "input" });
  if (typeof schema.toJsonSchema === "function") return schema.toJsonSchema();
  if (standard.vendor === "zod") return ofZod(schema);
  throw new Error(
    `${standard.vendor} cannot convert its schemas to JSON Schema; give the JSON Schema itself`,
  );
}

/** Copies a schema as data: symbols and hidden properties of libraries are left out. */
function plain(schema: any): JsonSchema {
  const { $schema: _, ...rest } = JSON.parse(JSON.stringify(schema));
  return rest;
}

/** Checks arguments with the program's own schema, which may convert them and add defaults. */
export async function validated(schema: any, args: unknown): Promise<unknown> {
  const standard = schema?.["~standard"];
  if (standard === undefined) return args;
  const result: any = await standard.validate(args);
  if (result.issues === undefined) return result.value;
  const lines = result.issues.map((issue: any) => {
    const path = (issue.path ?? []).map((part: any) => part?.key ?? part).join(".");
    return `  - ${path === "" ? "" : `${path}: `}${issue.message}`;
  });
  throw new Error(`invalid arguments:\n${lines.join("\n")}`);
}

/** Converts a schema of zod 3, or of a zod 4 that is older than `toJSONSchema` of schemas. */
function ofZod(schema: any): any {
  const def = schema._zod?.def ?? schema._def;
  const kind = String(def.typeName ?? def.type)
    .replace(/^Zod/, "")
    .toLowerCase();
  const description = schema.description ?? def.description;
  const found = ofZodKind(kind, def, schema);
  return description === undefined ? found : { ...found, description };
}

function ofZodKind(kind: string, def: any, schema: any): any {
  switch (kind) {
    case "string":
      return { type: "string", ...limits(schema, "minLength", "maxLength") };
    case "number":
      return {
        type: isInteger(def, schema) ? "integer" : "number",
        ...limits(schema, "minimum", "maximum"),
      };
    case "int":
      return { type: "integer" };
    case "boolean":
      return { type: "boolean" };
    case "null":
      return { type: "null" };
    case "any":
    case "unknown":
      return {};
    case "never":
      return { not: {} };
    case "literal": {
      const values = def.values ?? [def.value];
      return values.length === 1 ? { const: values[0] } : { enum: values };
    }
    case "enum":
    case "nativeenum":
      return { enum: valuesOfEnum(def.entries ?? def.values) };
    case "array":
      return { type: "array", items: ofZod(def.element ?? def.type) };
    case "tuple":
      return {
        type: "array",
        prefixItems: def.items.map(ofZod),
        items: def.rest ? ofZod(def.rest) : false,
      };
    case "set":
      throw new Error("a set has no JSON Schema; use an array");
    case "record":
      return { type: "object", additionalProperties: ofZod(def.valueType) };
    case "object":
      return ofZodObject(def);
    case "union":
    case "discriminatedunion":
      return { anyOf: [...(def.options.values?.() ?? def.options)].map(ofZod) };
    case "intersection":
      return { allOf: [ofZod(def.left), ofZod(def.right)] };
    case "nullable":
      return { anyOf: [ofZod(def.innerType), { type: "null" }] };
    case "default":
    case "prefault": {
      const value = typeof def.defaultValue === "function" ? def.defaultValue() : def.defaultValue;
      return { ...ofZod(def.innerType), default: value };
    }
    case "optional":
    case "nonoptional":
    case "readonly":
    case "catch":
      return ofZod(def.innerType);
    case "effects":
      return ofZod(def.schema);
    case "branded":
      return ofZod(def.type);
    case "pipe":
    case "pipeline":
      return ofZod(def.in);
    case "lazy":
      throw new Error(
        "a lazy schema of zod needs zod 4.1 or newer; or give the JSON Schema itself",
      );
    default:
      throw new Error(`${kind} of zod has no JSON Schema; give the JSON Schema itself`);
  }
}

function ofZodObject(def: any): any {
  const shape = typeof def.shape === "function" ? def.shape() : def.shape;
  const properties: Record<string, any> = {};
  const required: string[] = [];
  for (const [name, value] of Object.entries<any>(shape)) {
    properties[name] = ofZod(value);
    const mayBeAbsent = value._zod ? value._zod.optin === "optional" : value.isOptional();
    if (!mayBeAbsent) required.push(name);
  }
  const isOpen = def.unknownKeys === "passthrough" || def.catchall?._zod?.def.type === "unknown";
  return {
    type: "object",
    properties,
    ...(required.length > 0 && { required }),
    ...(!isOpen && { additionalProperties: false }),
  };
}

function isInteger(def: any, schema: any): boolean {
  return schema.isInt === true || (def.checks ?? []).some((check: any) => check.kind === "int");
}

/** Returns the limits of a text or a number, where they are finite. */
function limits(schema: any, least: string, most: string): Record<string, number> {
  const [min, max] =
    least === "minLength"
      ? [schema.minLength, schema.maxLength]
      : [schema.minValue, schema.maxValue];
  const isLimit = (value: any) =>
    Number.isFinite(value) && Math.abs(value) < Number.MAX_SAFE_INTEGER;
  return { ...(isLimit(min) && { [least]: min }), ...(isLimit(max) && { [most]: max }) };
}

function valuesOfEnum(entries: any): any[] {
  if (Array.isArray(entries)) return entries;
  // An enum of TypeScript with numbers also maps the numbers to the names.
  const names = Object.keys(entries).filter((name) => typeof entries[entries[name]] !== "number");
  return names.map((name) => entries[name]);
}

/**
 * Returns a schema that every model provider accepts: an object without a union or a reference at the root. The
 * properties of all branches are merged; haft checks arguments against the author's schema anyway.
 */
export function objectSchema(schema: JsonSchema): JsonSchema {
  const root = resolved(schema, schema);
  const { anyOf, oneOf, allOf, $ref: _, ...rest } = root;
  if (anyOf === undefined && oneOf === undefined && allOf === undefined) {
    return { ...rest, type: "object", properties: rest.properties ?? {} };
  }
  const merged: JsonSchema = { ...rest, type: "object", properties: { ...rest.properties } };
  const required = new Set<string>(rest.required ?? []);
  const add = (branch: JsonSchema) => {
    const object = objectSchema({ ...resolved(branch, schema), $defs: schema["$defs"] });
    for (const [name, value] of Object.entries(object.properties)) {
      const before = merged.properties[name];
      merged.properties[name] = before === undefined ? value : either(before, value);
    }
    return new Set<string>(object.required ?? []);
  };
  for (const branch of allOf ?? []) for (const name of add(branch)) required.add(name);
  for (const branches of [anyOf, oneOf]) {
    const sets = (branches ?? []).map(add);
    for (const name of sets[0] ?? []) {
      if (sets.every((set: Set<string>) => set.has(name))) required.add(name);
    }
  }
  delete merged["required"];
  // A branch may have a property that another one does not know.
  delete merged["additionalProperties"];
  return required.size > 0 ? { ...merged, required: [...required] } : merged;
}

function resolved(schema: JsonSchema, root: JsonSchema): JsonSchema {
  const found = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(schema["$ref"] ?? "");
  const target = found && root[found[1]!]?.[found[2]!];
  return target ? { ...target, $defs: root["$defs"] } : schema;
}

function either(first: any, second: any): any {
  if (JSON.stringify(first) === JSON.stringify(second)) return first;
  const variants = Object.keys(first).join() === "anyOf" ? first.anyOf : [first];
  return { anyOf: [...variants, second] };
}
