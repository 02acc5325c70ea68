// Schemas of what goes in, where what comes out cannot be said or cannot go in.

import assert from "node:assert/strict";
import { test } from "node:test";

import { type } from "arktype";
import * as z from "zod";

import { importRuntime } from "./arguments_bundle.mjs";

const { wireSchema } = await importRuntime("20_wire_schema.ts");

const text = { type: "string" };
const closed = (properties, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  ...(required.length > 0 ? { required } : {}),
  additionalProperties: false,
});

const point = z.object({ x: z.string().transform(Number), note: z.string().optional() });
const CASES = [
  [
    "a transform",
    z.object({ a: z.string().min(2).transform(Number) }),
    closed({ a: { type: "string", minLength: 2 } }),
  ],
  [
    "its description",
    z.object({ a: z.string().transform(Number).describe("n") }),
    closed({ a: { type: "string", description: "n" } }),
  ],
  [
    "inside of others",
    z.object({ a: z.array(z.string().transform(Number)).optional() }),
    closed({ a: { type: "array", items: text } }, []),
  ],
  [
    "a default behind it",
    z.object({
      a: z
        .string()
        .transform((value) => value.length)
        .default(3),
    }),
    closed({ a: { type: "string", default: 3 } }, []),
  ],
  ["the root", z.object({ a: z.string() }).transform(({ a }) => a), closed({ a: text })],
  [
    "used twice",
    z.object({ a: point, b: point }),
    closed({
      a: closed({ x: text, note: text }, ["x"]),
      b: closed({ x: text, note: text }, ["x"]),
    }),
  ],
  ["a chain", z.object({ a: z.string().transform(Number).pipe(z.number()) }), closed({ a: text })],
  [
    "a chain of three",
    z.object({
      a: z
        .string()
        .transform(Number)
        .transform(String)
        .transform((s) => new Set(s)),
    }),
    closed({ a: text }),
  ],
  ["a codec", z.object({ a: z.stringbool() }), closed({ a: text })],
  [
    "a codec of dates",
    z.object({
      a: z.codec(z.iso.datetime(), z.date(), {
        decode: (s) => new Date(s),
        encode: (d) => d.toISOString(),
      }),
    }),
    closed({
      a: { type: "string", format: "date-time", pattern: z.toJSONSchema(z.iso.datetime()).pattern },
    }),
  ],
  [
    "a pipe that only checks",
    z.object({ a: z.string().pipe(z.string().min(2)) }),
    closed({ a: { type: "string", minLength: 2 } }),
  ],
  [
    "preprocess",
    z.object({ a: z.preprocess(Number, z.number()) }),
    closed({ a: { type: "number" } }),
  ],
  [
    "a coerced date",
    z.object({ a: z.coerce.date() }),
    closed({ a: { type: "string", format: "date-time" } }),
  ],
];

for (const [what, schema, expected] of CASES) {
  test(what, () => {
    const before = z.safeParse(schema, {});
    assert.deepEqual(wireSchema(schema).schema, expected);
    // The author's schema is what it was.
    assert.deepEqual(z.safeParse(schema, {}), before);
    assert.deepEqual(wireSchema(schema).schema, expected);
  });
}

test("the conversion still happens", () => {
  wireSchema(point);
  assert.deepEqual(point.parse({ x: "4" }), { x: 4 });
});

test("what cannot go in either is refused, with its place", () => {
  const schema = z.object({ a: z.string().transform(Number), when: z.date() });
  assert.throws(() => wireSchema(schema), {
    message: "Date cannot be represented in JSON Schema (at `when`)",
  });
});

test("a morph of arktype", () => {
  const { schema } = wireSchema(type({ n: "string.numeric.parse", s: "string" }));
  assert.equal(schema.properties.n.type, "string");
  assert.deepEqual(schema.required, ["n", "s"]);
});

test("a Standard Schema that knows only its input", () => {
  const jsonSchema = {
    input: () => ({ type: "object", properties: { a: text } }),
    output: () => {
      throw new Error("no");
    },
  };
  const schema = { "~standard": { vendor: "x", validate: () => ({ value: 1 }), jsonSchema } };
  assert.deepEqual(wireSchema(schema).schema, { type: "object", properties: { a: text } });
});
