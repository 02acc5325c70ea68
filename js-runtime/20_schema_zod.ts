// Turns a zod schema into the JSON Schema of what goes in.
//
// zod describes what comes out, which is what its authors' checks and closed objects are written for. But a
// conversion (`.transform()`, a codec) may give what JSON has no word for, or what cannot go in; the part
// with the conversion is then described by what it takes.

import { zod } from "ext:haft/05_packages.ts";
import { copySchema, isSchemaObject, type Schema, SchemaError } from "ext:haft/20_schema_copy.ts";

const { isArray } = Array;
const { keys, hasOwn } = Object;

const TARGET = "draft-2020-12";

/** The kinds of zod schemas that JSON Schema has no word for. */
const UNREPRESENTABLE =
  "transform date bigint map set symbol custom function undefined void nan promise".split(" ");

/** The JSON Schema of a zod schema, as plain data. */
export function schemaOfZod(schema: any): Schema {
  const pipes: any[] = [];
  try {
    const wire = converted(schema, "throw", (node) => {
      if (node._zod.def.type === "pipe") pipes.push(node);
    });
    if (pipes.length === 0) return wire;
  } catch (error) {
    if (error instanceof SchemaError) throw error;
    // What can be turned around is; else the second attempt fails with the same words.
  }
  const turned = new Map<any, unknown>();
  try {
    turnConversions(schema, turned);
    return converted(schema, coerced);
  } catch (error) {
    if (error instanceof SchemaError) throw error;
    throw new SchemaError(`${messageOf(error)}${placeOfUnrepresentable(schema)}`);
  } finally {
    for (const [def, out] of turned) def.out = out;
  }
}

function converted(
  schema: any,
  unrepresentable: unknown,
  visit: (node: any) => void = () => {},
): Schema {
  const override = (node: Schema) => {
    visit(node["zodSchema"]);
    keepMetadata(node);
  };
  const wire = zod()["toJSONSchema"](schema, { target: TARGET, unrepresentable, override });
  // The result carries a hidden `~standard`; a copy is plain data.
  return copySchema(wire);
}

/** `z.coerce.date()` and `z.coerce.bigint()` take what JSON can say. */
function coerced({ zodSchema }: Schema): unknown {
  const { type, coerce } = zodSchema._zod.def;
  if (coerce !== true) return "throw";
  if (type === "date") return { type: "string", format: "date-time" };
  return type === "bigint" ? { type: "integer" } : "throw";
}

/**
 * Has every conversion below `schema` that needs it described by what goes in: zod reads `out` of a
 * pipe, so `in` stands there until `turned` is undone.
 */
function turnConversions(schema: any, turned: Map<any, unknown>): void {
  const pipes = new Set<any>();
  const note = ({ _zod: { def } }: any) => {
    if (def.type === "pipe" && !turned.has(def)) pipes.add(def);
  };
  converted(schema, "any", note);
  for (const def of pipes) {
    // `z.preprocess` takes anything; what comes out of it is all that is known.
    if (def.in._zod.def.type === "transform") continue;
    turnConversions(def.in, turned);
    const goesIn = typesOf(def.in);
    const comesOut = typesOf(def.out);
    if (goesIn === undefined) continue;
    if (comesOut === undefined || (goesIn.length > 0 && areDisjoint(goesIn, comesOut))) {
      turned.set(def, def.out);
      def.out = def.in;
    }
  }
}

/** The types that a schema allows, an empty list for any; nothing where JSON Schema has no word for it. */
function typesOf(schema: any): string[] | undefined {
  try {
    const { type, anyOf } = converted(schema, coerced);
    if (isArray(anyOf)) {
      const types = anyOf.map((branch: unknown) =>
        isSchemaObject(branch) ? branch["type"] : undefined,
      );
      return types.includes(undefined) ? [] : types.flat();
    }
    return type === undefined ? [] : [type].flat();
  } catch {
    return undefined;
  }
}

function areDisjoint(some: string[], others: string[]): boolean {
  const numbers = (types: string[]) => types.map((type) => (type === "integer" ? "number" : type));
  return others.length > 0 && !numbers(some).some((type) => numbers(others).includes(type));
}

// Before 4.1.13 each copy of zod kept descriptions in a registry of its own, which only the
// schema itself can still ask.
function keepMetadata({ zodSchema, jsonSchema }: Schema): void {
  if (typeof zodSchema.meta !== "function") return;
  const meta = zodSchema.meta();
  if (!isSchemaObject(meta)) return;
  for (const key of keys(meta)) {
    if (key !== "id" && !hasOwn(jsonSchema, key)) jsonSchema[key] = meta[key];
  }
}

// zod's message names the kind but not the place. Only a failure pays for the second walk.
function placeOfUnrepresentable(schema: any): string {
  const places: string[] = [];
  const noteRefused = ({ zodSchema, path }: Schema): void => {
    const { type, coerce } = zodSchema._zod.def;
    if (!UNREPRESENTABLE.includes(type) || coerce === true) return;
    const place = path.filter((step: unknown) => step !== "properties").join("/");
    if (place !== "" && !places.includes(place)) places.push(place);
  };
  try {
    zod()["toJSONSchema"](schema, {
      target: TARGET,
      unrepresentable: "any",
      override: noteRefused,
    });
  } catch {
    // The message alone has to do.
  }
  return places.length === 0 ? "" : ` (at ${places.map((place) => `\`${place}\``).join(", ")})`;
}

/** Returns the message of an error in one line: arktype spreads its reasons over several. */
export function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return message.replaceAll(/\s+/g, " ").trim();
}
