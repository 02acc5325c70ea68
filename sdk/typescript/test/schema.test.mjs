// Schemas of the program's tools, and their forms for model providers.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";
import { type } from "arktype";
import * as zod from "zod";
import * as zod3 from "zod3";
import * as zod40 from "zod40";

const require = createRequire(import.meta.url);
const { jsonSchemaOf, objectSchema, validated } = require("../dist/schema.js");

/** A schema with everything that the libraries have in common. */
const everything = ({ z }) =>
  z.object({
    text: z.string().min(1).max(9).describe("a text"),
    number: z.number().min(0),
    whole: z.number().int(),
    flag: z.boolean().default(true),
    kind: z.enum(["a", "b"]),
    one: z.literal(1),
    list: z.array(z.string()).optional(),
    pair: z.tuple([z.string(), z.number()]),
    map: z.record(z.string(), z.number()),
    either: z.union([z.string(), z.null()]),
    maybe: z.string().nullable(),
    any: z.any(),
    inner: z.object({ deep: z.string().transform((text) => text.length) }),
  });

const nullable = { anyOf: [{ type: "string" }, { type: "null" }] };
const EXPECTED = {
  text: { type: "string", minLength: 1, maxLength: 9, description: "a text" },
  number: { type: "number", minimum: 0 },
  whole: { type: "integer" },
  flag: { type: "boolean", default: true },
  kind: { enum: ["a", "b"] },
  one: { const: 1 },
  list: { type: "array", items: { type: "string" } },
  pair: { type: "array", prefixItems: [{ type: "string" }, { type: "number" }], items: false },
  map: { type: "object", additionalProperties: { type: "number" } },
  either: nullable,
  maybe: nullable,
  any: {},
  inner: {
    type: "object",
    properties: { deep: { type: "string" } },
    required: ["deep"],
    additionalProperties: false,
  },
};

for (const [name, library] of [
  ["zod 3", zod3],
  ["zod 4.0", zod40],
]) {
  test(`${name}, which has no conversion of its own`, () => {
    const found = jsonSchemaOf(everything(library), "t");
    assert.deepEqual(found.properties, EXPECTED);
    // A key with any value may be absent in zod 3 only.
    const optional = ["flag", "list", ...(name === "zod 3" ? ["any"] : [])];
    const required = Object.keys(EXPECTED).filter((key) => !optional.includes(key));
    assert.deepEqual(found.required, required);
    assert.equal(found.additionalProperties, false);
    assert.throws(() => jsonSchemaOf(library.z.object({ at: library.z.date() }), "t"), {
      message: /^the schema of the tool `t`: date of zod has no JSON Schema/,
    });
  });
}

test("libraries that convert their schemas do it themselves", () => {
  const own = jsonSchemaOf(everything(zod), "t");
  assert.deepEqual(own.properties.text, EXPECTED.text);
  assert.equal(own.required.includes("flag"), false);
  assert.deepEqual(jsonSchemaOf(type({ a: "number" }), "t"), {
    type: "object",
    properties: { a: { type: "number" } },
    required: ["a"],
  });
  const given = { type: "object", properties: { a: {} }, $schema: "x", [Symbol("hidden")]: 1 };
  assert.deepEqual(jsonSchemaOf(given, "t"), { type: "object", properties: { a: {} } });
});

test("arguments are checked and converted by the library", async () => {
  const schema = zod.z.object({
    a: zod.z.string().transform(Number),
    b: zod.z.number().default(2),
  });
  assert.deepEqual(await validated(schema, { a: "1" }), { a: 1, b: 2 });
  await assert.rejects(validated(schema, { a: 1, b: "x" }), {
    message: /^invalid arguments:\n {2}- a: .*\n {2}- b: /,
  });
  assert.deepEqual(await validated({ type: "object" }, { any: 1 }), { any: 1 });
});

test("unions and references at the root become one object", () => {
  const a = { type: "object", properties: { kind: { const: "a" }, x: { type: "string" } } };
  const b = { type: "object", properties: { kind: { const: "b" }, y: { type: "number" } } };
  const merged = {
    type: "object",
    properties: {
      kind: { anyOf: [{ const: "a" }, { const: "b" }] },
      x: { type: "string" },
      y: { type: "number" },
    },
    required: ["kind"],
  };
  const union = [
    { ...a, required: ["kind", "x"] },
    { ...b, required: ["kind", "y"] },
  ];
  assert.deepEqual(objectSchema({ anyOf: union }), merged);
  assert.deepEqual(objectSchema({ oneOf: union }), merged);
  const all = objectSchema({ allOf: union });
  assert.deepEqual(all.required, ["kind", "x", "y"]);
  const $defs = { A: union[0], B: union[1] };
  const refs = { anyOf: [{ $ref: "#/$defs/A" }, { $ref: "#/$defs/B" }], $defs };
  assert.deepEqual(objectSchema(refs), { ...merged, $defs });
  assert.deepEqual(objectSchema({ $ref: "#/$defs/A", $defs }), { ...union[0], $defs });
  assert.deepEqual(objectSchema({}), { type: "object", properties: {} });
});
