// Turns a tool's `parameters` into the JSON Schema that models are sent (spec omp 7.1).
//
// Knows the libraries by what their schemas carry, never by identity: a tool may bring its own copy
// of zod, TypeBox or arktype. What cannot be represented throws, which costs that tool alone.

import { packageByName, zod } from "ext:haft/05_packages.ts";
import { copySchema, isSchemaObject, type Schema, SchemaError } from "ext:haft/20_schema_copy.ts";
import { normaliseSchema, upgradeSchema } from "ext:haft/20_schema_upgrade.ts";
import { messageOf, schemaOfZod } from "ext:haft/20_schema_zod.ts";

/**
 * Origin of the schema, which decides about the check of the arguments: the library itself, or for
 * `typebox` and `json` a JSON Schema validator. `shape` is a bare `{key: zod schema}`; `none`
 * stands for `parameters` that are null or undefined, and takes any object.
 */
export type SchemaKind =
  | "zod"
  | "zod3"
  | "shape"
  | "arktype"
  | "standard"
  | "typebox"
  | "json"
  | "none";

export interface WireSchema {
  schema: Schema;
  kind: SchemaKind;
}

const { isArray } = Array;
const { keys, getPrototypeOf, hasOwn } = Object;

const TARGET = "draft-2020-12";
const TYPEBOX_KIND = Symbol.for("TypeBox.Kind");

/** Keywords that say themselves what the root is; without one of them it is an object. */
const ROOT_KEYWORDS = ["type", "$ref", "anyOf", "oneOf", "allOf", "not", "if", "enum", "const"];

/** The wire schema of `parameters`; throws an error whose message describes what is wrong with them. */
export function wireSchema(parameters: any): WireSchema {
  try {
    return represented(parameters);
  } catch (error) {
    if (error instanceof SchemaError) throw error;
    // A proxy or a getter of the author.
    throw new SchemaError(`\`parameters\` cannot be read: ${messageOf(error)}`);
  }
}

function represented(parameters: any): WireSchema {
  // A tool without parameters takes no named argument, but what it is sent still reaches it.
  if (parameters === null || parameters === undefined) {
    return { schema: { type: "object", properties: {} }, kind: "none" };
  }
  const kind = kindOf(parameters);
  switch (kind) {
    case "zod":
      return { schema: normaliseSchema(ofZod(parameters)), kind };
    case "shape":
      return { schema: normaliseSchema(ofZod(objectOfShape(parameters))), kind };
    case "zod3":
      return { schema: finished(ofZod3(parameters)), kind };
    case "arktype":
      return { schema: finished(ofArktype(parameters)), kind };
    case "standard":
      return { schema: finished(ofStandard(parameters)), kind };
    default:
      return { schema: ofJsonSchema(parameters), kind };
  }
}

/** zod's own object schema around a bare shape; the same object for the same shape. */
export function objectOfShape(shape: Schema): any {
  let made = objects.get(shape);
  if (made === undefined) {
    made = zod()["object"](shape);
    objects.set(shape, made);
  }
  return made;
}

const objects = new WeakMap<object, unknown>();

/**
 * zod as tools get it. They were written for zod 3 and 4 alike, and `record(values)` with one
 * argument is zod 3's; a zod that understands it is returned as it is.
 */
export function tolerantZod(namespace: Schema): Schema {
  const { record, string } = namespace;
  if (record(string())._zod.def.valueType !== undefined) return namespace;
  const tolerant: Schema = {
    ...namespace,
    record: (key: unknown, value?: unknown, params?: unknown) =>
      isZod(value) ? record(key, value, params) : record(string(), key, value),
  };
  tolerant["z"] = tolerant;
  tolerant["default"] = tolerant;
  return tolerant;
}

function kindOf(parameters: any): SchemaKind {
  if (typeof parameters !== "object" && typeof parameters !== "function") {
    throw new SchemaError(
      `\`parameters\` is a ${typeof parameters}, not a schema: use \`pi.zod.object({…})\``,
    );
  }
  if (isZod(parameters)) return "zod";
  if (typeof parameters._def?.typeName === "string") return "zod3";
  if (typeof parameters === "function" && typeof parameters.toJsonSchema === "function") {
    return "arktype";
  }
  const standard = parameters["~standard"];
  if (typeof standard?.validate === "function") {
    if (standard.jsonSchema !== undefined) return "standard";
    throw new SchemaError(
      `\`parameters\` is a schema of ${standard.vendor ?? "a library"}, which does not tell its ` +
        "JSON Schema: use `pi.zod` or JSON Schema",
    );
  }
  if (typeof parameters === "function") {
    throw new SchemaError("`parameters` is a function, not a schema: call it and pass its result");
  }
  if (isArray(parameters)) throw new SchemaError("`parameters` is an array, not a schema");
  if (hasOwn(parameters, TYPEBOX_KIND) || hasOwn(parameters, "~kind")) return "typebox";
  return isShape(parameters) ? "shape" : "json";
}

function isZod(value: any): boolean {
  return isSchemaObject(value?._zod) && isSchemaObject(value._zod["def"]);
}

function isShape(value: Schema): boolean {
  const prototype = getPrototypeOf(value);
  if (prototype !== null && getPrototypeOf(prototype) !== null) return false;
  const names = keys(value);
  return names.length > 0 && names.every((name) => isZod(value[name]));
}

function ofZod(schema: any): Schema {
  return withoutDraft(schemaOfZod(schema));
}

function ofZod3(schema: any): Schema {
  const { zodToJsonSchema } = packageByName("zod-to-json-schema");
  return zodToJsonSchema(schema, { target: "jsonSchema7", $refStrategy: "none" });
}

function ofArktype(schema: any): Schema {
  try {
    return schema.toJsonSchema({ target: TARGET });
  } catch (error) {
    try {
      // A morph gives what JSON has no word for; `base` is what goes into it.
      const morph = ({ base }: Schema) => base;
      return schema.toJsonSchema({ target: TARGET, fallback: { morph } });
    } catch {
      throw new SchemaError(`\`parameters\` cannot be sent as JSON Schema: ${messageOf(error)}`);
    }
  }
}

function ofStandard(schema: any): Schema {
  const { jsonSchema } = schema["~standard"];
  try {
    return jsonSchema.output({ target: TARGET });
  } catch (error) {
    try {
      return jsonSchema.input({ target: TARGET });
    } catch {
      throw new SchemaError(`\`parameters\` cannot be sent as JSON Schema: ${messageOf(error)}`);
    }
  }
}

function ofJsonSchema(parameters: object): Schema {
  const schema = normaliseSchema(upgradeSchema(copySchema(parameters)));
  if (ROOT_KEYWORDS.some((keyword) => hasOwn(schema, keyword))) return schema;
  return { type: "object", ...(keys(schema).length === 0 ? { properties: {} } : schema) };
}

/** Schema that another library generated: its draft does not matter to models. */
function finished(generated: Schema): Schema {
  return normaliseSchema(withoutDraft(upgradeSchema(copySchema(generated))));
}

function withoutDraft(schema: Schema): Schema {
  delete schema["$schema"];
  return schema;
}
