// The wire schema of every kind of `parameters` (spec omp 7.1, demands 4 and 5).

import assert from "node:assert/strict";
import { test } from "node:test";

import { Type } from "@sinclair/typebox";
import { type } from "arktype";
import Typebox1 from "typebox";
import { z } from "zod";
import { z as z3 } from "zod3";
import * as zod40 from "zod40";

import { importRuntime } from "./arguments_bundle.mjs";

const { wireSchema, tolerantZod } = await importRuntime("20_wire_schema.ts");

/** `table` is a list of [what, parameters, the expected wire schema]. */
function schemas(kind, table) {
  for (const [what, parameters, expected] of table) {
    test(`${kind}: ${what}`, () => {
      const wire = wireSchema(parameters);
      assert.equal(wire.kind, kind);
      assert.deepEqual(wire.schema, expected);
      assert.deepEqual(JSON.parse(JSON.stringify(wire.schema)), wire.schema, "plain data");
    });
  }
}

/** `table` is a list of [what, parameters, the expected message]. */
function refusals(table) {
  for (const [what, parameters, expected] of table) {
    test(`refused: ${what}`, () => {
      assert.throws(() => wireSchema(parameters), { name: "SchemaError", message: expected });
    });
  }
}

const object = (properties, required, more = {}) => ({
  type: "object",
  properties,
  ...(required ? { required } : {}),
  ...more,
});
const closed = { additionalProperties: false };
const string = { type: "string" };

schemas("zod", [
  [
    "every object is closed and $schema is gone",
    z.object({ a: z.string() }),
    object({ a: string }, ["a"], closed),
  ],
  [
    "a nested object is closed too",
    z.object({ a: z.object({ b: z.boolean() }) }),
    object({ a: object({ b: { type: "boolean" } }, ["b"], closed) }, ["a"], closed),
  ],
  [
    "passthrough stays open",
    z.object({ a: z.string() }).passthrough(),
    object({ a: string }, ["a"], { additionalProperties: true }),
  ],
  [
    "the bounds of safe integers go, others stay",
    z.object({ a: z.number().int(), b: z.int().min(1).max(9) }),
    object(
      { a: { type: "integer" }, b: { type: "integer", minimum: 1, maximum: 9 } },
      ["a", "b"],
      closed,
    ),
  ],
  [
    "a bound of ±2^53-1 on a number is the author's",
    z.object({ a: z.number().max(Number.MAX_SAFE_INTEGER) }),
    object({ a: { type: "number", maximum: Number.MAX_SAFE_INTEGER } }, ["a"], closed),
  ],
  [
    "a key with a default is not required",
    z.object({ a: z.string(), b: z.string().optional().default("**/*.ts") }),
    object({ a: string, b: { type: "string", default: "**/*.ts" } }, ["a"], closed),
  ],
  [
    "an empty list of required keys goes",
    z.object({ tags: z.array(z.string()).default([]) }),
    object({ tags: { type: "array", items: string, default: [] } }, undefined, closed),
  ],
  [
    "an empty schema is true wherever a schema stands",
    z.object({ a: z.unknown(), b: z.array(z.any()), c: z.union([z.string(), z.any()]) }),
    object(
      { a: true, b: { type: "array", items: true }, c: { anyOf: [string, true] } },
      ["a", "b", "c"],
      closed,
    ),
  ],
  [
    "an empty default value is no schema",
    z.object({ a: z.record(z.string(), z.number()).default({}) }),
    object(
      {
        a: {
          type: "object",
          propertyNames: string,
          additionalProperties: { type: "number" },
          default: {},
        },
      },
      undefined,
      closed,
    ),
  ],
  [
    "one-argument record",
    z.object({ a: z.record(z.unknown()) }),
    object(
      { a: { type: "object", propertyNames: string, additionalProperties: true } },
      ["a"],
      closed,
    ),
  ],
  [
    "descriptions",
    z.object({ a: z.string().describe("A") }).describe("all"),
    object({ a: { type: "string", description: "A" } }, ["a"], { ...closed, description: "all" }),
  ],
  [
    "an older copy of zod keeps its descriptions",
    zod40.z.object({ a: zod40.z.string().describe("A") }),
    object({ a: { type: "string", description: "A" } }, ["a"], closed),
  ],
  [
    "recursion",
    (() => {
      const Node = z.object({
        name: z.string(),
        get below() {
          return z.array(Node).optional();
        },
      });
      return Node;
    })(),
    object({ name: string, below: { type: "array", items: { $ref: "#" } } }, ["name"], closed),
  ],
  ["nothing inside", z.object({}), object({}, undefined, closed)],
]);

test("zod: the wire schema is what z.toJSONSchema gives, less the listed steps", () => {
  const schema = z.object({
    mode: z.enum(["a", "b"]),
    many: z.array(z.tuple([z.string(), z.number()])),
    kind: z.discriminatedUnion("k", [
      z.object({ k: z.literal("x") }),
      z.object({ k: z.literal("y") }),
    ]),
    maybe: z.string().nullable(),
    text: z.string().min(2).regex(/^a/).email().optional(),
  });
  const { $schema, ...expected } = z.toJSONSchema(schema, { target: "draft-2020-12" });
  assert.equal($schema, "https://json-schema.org/draft/2020-12/schema");
  assert.deepEqual(wireSchema(schema).schema, JSON.parse(JSON.stringify(expected)));
});

schemas("zod3", [
  [
    "as zod 4 shows it",
    z3.object({
      a: z3.string().describe("A"),
      n: z3.number().int(),
      d: z3.string().default("x"),
      u: z3.any(),
    }),
    object(
      {
        a: { type: "string", description: "A" },
        n: { type: "integer" },
        d: { type: "string", default: "x" },
        u: true,
      },
      ["a", "n"],
      closed,
    ),
  ],
]);

schemas("shape", [
  [
    "a bare shape is an object",
    { a: z.string(), b: z.number().optional() },
    object({ a: string, b: { type: "number" } }, ["a"], closed),
  ],
]);

schemas("arktype", [
  [
    "optional keys and defaults",
    type({ a: "string", "b?": "number.integer", c: "string = 'x'" }),
    object({ a: string, b: { type: "integer" }, c: { type: "string", default: "x" } }, ["a"]),
  ],
]);

schemas("typebox", [
  [
    "markers go, nothing is closed",
    Type.Object({
      a: Type.String({ description: "A" }),
      b: Type.Optional(Type.Number()),
      c: Type.Number({ default: 3 }),
    }),
    object(
      {
        a: { type: "string", description: "A" },
        b: { type: "number" },
        c: { type: "number", default: 3 },
      },
      ["a"],
    ),
  ],
  [
    "a tuple has prefixItems",
    Type.Object({ t: Type.Tuple([Type.String()]) }),
    object(
      { t: { type: "array", prefixItems: [string], items: false, minItems: 1, maxItems: 1 } },
      ["t"],
    ),
  ],
  [
    "a recursive type points at its place",
    Type.Object({ n: Type.Recursive((Self) => Type.Object({ k: Type.Array(Self) })) }),
    object({ n: object({ k: { type: "array", items: { $ref: "#/properties/n" } } }, ["k"]) }, [
      "n",
    ]),
  ],
  [
    "typebox 1",
    Typebox1.Object({ a: Typebox1.Optional(Typebox1.String()) }),
    object({ a: string }),
  ],
]);

schemas("json", [
  ["a clone, not closed", object({ a: string }, ["a"]), object({ a: string }, ["a"])],
  ["nothing said is an object", {}, { type: "object", properties: {} }],
  [
    "properties without a type are an object's",
    { properties: { a: string } },
    object({ a: string }),
  ],
  [
    "a union at the root stays",
    { anyOf: [object({}), object({ a: string })] },
    { anyOf: [object({}), object({ a: string })] },
  ],
  [
    "definitions become $defs, with their references",
    { ...object({ a: { $ref: "#/definitions/x" } }), definitions: { x: string } },
    { ...object({ a: { $ref: "#/$defs/x" } }), $defs: { x: string } },
  ],
  [
    "tuples become prefixItems",
    object({ t: { type: "array", items: [string, {}], additionalItems: false } }),
    object({ t: { type: "array", prefixItems: [string, true], items: false } }),
  ],
  [
    "nullable",
    object({
      a: { type: "string", nullable: true },
      b: { type: "string", enum: ["x"], nullable: true },
      c: { $ref: "#/properties/a", nullable: true },
      d: { anyOf: [string], nullable: true },
      e: { type: "string", nullable: false },
    }),
    object({
      a: { type: ["string", "null"] },
      b: { type: ["string", "null"], enum: ["x", null] },
      c: { anyOf: [{ $ref: "#/properties/a" }, { type: "null" }] },
      d: { anyOf: [string, { type: "null" }] },
      e: string,
    }),
  ],
  [
    "draft 4 bounds",
    object({ a: { type: "number", minimum: 1, exclusiveMinimum: true } }),
    object({ a: { type: "number", exclusiveMinimum: 1 } }),
  ],
  [
    "required on the property",
    object({ a: { ...string, required: true }, b: { ...string, required: false } }),
    object({ a: string, b: string }, ["a"]),
  ],
  [
    "dependencies",
    { ...object({}), dependencies: { a: ["b"], c: object({ d: string }) } },
    {
      ...object({}),
      dependentRequired: { a: ["b"] },
      dependentSchemas: { c: object({ d: string }) },
    },
  ],
  [
    "an old $schema is told as the new one",
    { $schema: "http://json-schema.org/draft-07/schema#", ...object({}) },
    { $schema: "https://json-schema.org/draft/2020-12/schema", ...object({}) },
  ],
  [
    "a default makes a key optional",
    object({ a: { ...string, default: "x" } }, ["a"]),
    object({ a: { ...string, default: "x" } }),
  ],
  [
    "keys and values that look like keywords stay",
    object({
      definitions: object({ nullable: { type: "boolean" } }),
      enum: { enum: [{ definitions: {} }] },
      v: { default: {}, const: {} },
    }),
    object({
      definitions: object({ nullable: { type: "boolean" } }),
      enum: { enum: [{ definitions: {} }] },
      v: { default: {}, const: {} },
    }),
  ],
  [
    "functions and symbols go",
    { ...object({ a: string }), extra: () => 1, [Symbol("x")]: 1 },
    object({ a: string }),
  ],
  ["a proxy is read", new Proxy(object({ a: string }), {}), object({ a: string })],
  [
    "a key called __proto__",
    JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'),
    JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}'),
  ],
]);

schemas("none", [
  ["undefined takes no named argument", undefined, object({})],
  ["null too", null, object({})],
]);

const cyclic = object({});
cyclic.properties.self = cyclic;
const endless = new Proxy(object({}), {
  get: (target, key) => (key === "properties" ? { a: endless } : target[key]),
});
const cannot = "`parameters` cannot be sent as JSON Schema:";

refusals([
  [
    "a date, with its place",
    z.object({ a: z.object({ when: z.date() }) }),
    "Date cannot be represented in JSON Schema (at `a/when`)",
  ],
  [
    "a BigInt of zod",
    z.object({ a: z.bigint() }),
    "BigInt cannot be represented in JSON Schema (at `a`)",
  ],
  [
    "an arktype that JSON has no word for",
    type({ a: "Date" }),
    `${cannot} { code: "date", base: {} }`,
  ],
  [
    "a BigInt in a plain schema",
    object({ a: { type: "integer", maximum: 10n } }),
    `${cannot} \`properties/a/maximum\` is the BigInt 10n, which JSON cannot carry: write a number`,
  ],
  [
    "an infinite number",
    object({ a: { maximum: Infinity } }),
    `${cannot} \`properties/a/maximum\` is Infinity, which JSON cannot carry`,
  ],
  ["a cycle", cyclic, `${cannot} \`properties/self\` contains itself: use \`$ref\``],
  [
    "a proxy that contains itself",
    endless,
    `${cannot} \`properties/a\` contains itself: use \`$ref\``,
  ],
  [
    "a getter that throws",
    {
      type: "object",
      get properties() {
        throw new Error("boom");
      },
    },
    `${cannot} \`properties\` cannot be read: boom`,
  ],
  [
    "a proxy that throws",
    new Proxy(
      {},
      {
        ownKeys() {
          throw new Error("no keys");
        },
      },
    ),
    "`parameters` cannot be read: no keys",
  ],
  [
    "a type that does not exist",
    object({ a: { type: "int" } }),
    `${cannot} "int" is no \`type\`; there are null, boolean, object, array, number, integer, string`,
  ],
  [
    "TypeBox's Date",
    Type.Object({ a: Type.Date() }),
    `${cannot} "Date" is no \`type\`; there are null, boolean, object, array, number, integer, string`,
  ],
  [
    "zod inside of JSON Schema",
    object({ a: z.string() }),
    `${cannot} \`properties/a\` is a zod schema inside a JSON Schema: write the whole in one of the two`,
  ],
  [
    "a library that does not tell",
    { "~standard": { vendor: "valibot", validate: () => ({}) } },
    "`parameters` is a schema of valibot, which does not tell its JSON Schema: use `pi.zod` or JSON Schema",
  ],
  ["a string", "a, b", "`parameters` is a string, not a schema: use `pi.zod.object({…})`"],
  [
    "a function",
    () => z.object({}),
    "`parameters` is a function, not a schema: call it and pass its result",
  ],
  ["an array", [], "`parameters` is an array, not a schema"],
]);

test("a schema of fresh objects without end is refused with a short place", () => {
  const fresh = () =>
    new Proxy(
      {},
      {
        get: (_, key) => (key === "next" ? fresh() : undefined),
        ownKeys: () => ["next"],
        getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
      },
    );
  assert.throws(() => wireSchema({ type: "object", properties: fresh() }), {
    message: `${cannot} \`properties/${"next/".repeat(7)}…\` is nested too deeply`,
  });
});

test("the author's schema is not changed", () => {
  const mine = {
    ...object({ a: { $ref: "#/definitions/x" } }),
    definitions: { x: { ...string, nullable: true } },
  };
  const before = structuredClone(mine);
  wireSchema(mine);
  assert.deepEqual(mine, before);
});

test("the host's zod takes one-argument records itself", () => {
  assert.equal(tolerantZod(z), z);
});

test("an older zod learns one-argument records and stays itself otherwise", () => {
  const tolerant = tolerantZod(zod40.z);
  assert.equal(tolerant.z, tolerant);
  assert.equal(tolerant.string, zod40.z.string);
  assert.equal(tolerant.record(tolerant.number()).safeParse({ a: 1 }).success, true);
  assert.equal(tolerant.record(tolerant.number()).safeParse({ a: "x" }).success, false);
  assert.equal(
    tolerant.record(tolerant.enum(["a"]), tolerant.number()).safeParse({ b: 1 }).success,
    false,
  );
});
