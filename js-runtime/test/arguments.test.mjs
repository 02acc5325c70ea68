// The argument pipeline (spec omp 7, seed era): what reaches `execute`, and every refusal's text.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Type } from "@sinclair/typebox";
import Ajv from "ajv/dist/2020.js";
import { type } from "arktype";
import { z } from "zod";
import { z as z3 } from "zod3";

import { importRuntime } from "./arguments_bundle.mjs";

const { wireSchema, prepareArguments } = await importRuntime(
  "20_wire_schema.ts",
  "21_arguments.ts",
);

// Stands for the validator behind the op: any that knows draft 2020-12 will do.
const ajv = new Ajv({ allErrors: true, strict: false });
function check(schemaText, valueText) {
  const validate = ajv.compile(JSON.parse(schemaText));
  if (validate(JSON.parse(valueText))) return null;
  return validate.errors.map(({ instancePath, message, keyword }) => ({
    pointer: instancePath,
    message,
    keyword,
  }));
}

const toolOf = (parameters) => ({ name: "t", parameters, ...wireSchema(parameters) });
const prepare = (parameters, raw) =>
  prepareArguments(toolOf(parameters), typeof raw === "string" ? raw : JSON.stringify(raw), check);

/** `table` is a list of [what, parameters, arguments, what `execute` gets as JSON text or value]. */
function accepted(table) {
  for (const [what, parameters, raw, expected] of table) {
    test(`accepted: ${what}`, async () => {
      const prepared = await prepare(parameters, raw);
      assert.equal(prepared.ok, true, prepared.text);
      // Text, because the order of the keys counts.
      assert.equal(
        JSON.stringify(prepared.args),
        typeof expected === "string" ? expected : JSON.stringify(expected),
      );
    });
  }
}

/** `table` is a list of [what, parameters, arguments, problems, normalized?]. */
function refused(table) {
  for (const [what, parameters, raw, problems, normalized] of table) {
    test(`refused: ${what}`, async () => {
      const original = typeof raw === "string" ? JSON.parse(raw) : raw;
      const received = normalized === undefined ? original : { original, normalized };
      assert.deepEqual(await prepare(parameters, raw), {
        ok: false,
        text:
          `Validation failed for tool "t":\n${problems.map((problem) => `  - ${problem}`).join("\n")}\n\n` +
          `Received arguments:\n${JSON.stringify(received, null, 2)}`,
      });
    });
  }
}

const open = (properties, required = [], more = {}) => ({
  type: "object",
  properties,
  required,
  ...more,
});
const string = { type: "string" };
const number = { type: "number" };

// Null normalisation by the wire schema.
accepted([
  ["an optional null goes", z.object({ a: z.string().optional() }), { a: null }, {}],
  ['an optional "null" goes', z.object({ a: z.number().optional() }), { a: "null" }, {}],
  [
    'an optional "null" goes even where a string fits',
    z.object({ a: z.string().optional() }),
    { a: "null" },
    {},
  ],
  [
    "an optional null that would fit goes too",
    z.object({ a: z.string().nullable().optional() }),
    { a: null },
    {},
  ],
  [
    "a required null that fits stays",
    z.object({ a: z.string().nullable() }),
    { a: null },
    { a: null },
  ],
  ['a required "null" stays', z.object({ a: z.string() }), { a: "null" }, { a: "null" }],
  [
    '"null" among the choices is meant',
    z.object({ a: z.enum(["null", "x"]).optional() }),
    { a: "null" },
    { a: "null" },
  ],
  ["null becomes the default", z.object({ a: z.number().default(3) }), { a: null }, { a: 3 }],
  [
    "an optional empty string goes if it is refused",
    z.object({ a: z.number().optional(), b: z.enum(["x"]).optional() }),
    { a: "", b: "" },
    {},
  ],
  [
    "an optional empty string stays if it fits",
    z.object({ a: z.string().optional() }),
    { a: "" },
    { a: "" },
  ],
  [
    "an empty string for a default",
    z.object({ a: z.string().min(1).default("x") }),
    { a: "" },
    { a: "x" },
  ],
  [
    "inside of objects and lists",
    z.object({ l: z.array(z.object({ a: z.string().optional() })) }),
    { l: [{ a: null }, { a: "x" }] },
    { l: [{}, { a: "x" }] },
  ],
  [
    "an unknown null of a nested closed object goes",
    open({ o: open({}, [], { additionalProperties: false }) }),
    { o: { b: null } },
    { o: {} },
  ],
  [
    "an unknown null elsewhere stays",
    open({ o: open({}) }),
    { o: { b: null }, c: null },
    { o: { b: null }, c: null },
  ],
  [
    "through $ref",
    { ...open({ o: { $ref: "#/$defs/x" } }), $defs: { x: open({ a: string }) } },
    { o: { a: null } },
    { o: {} },
  ],
  [
    "through allOf, which may require",
    { allOf: [open({ a: string, b: { type: ["string", "null"] } }), { required: ["b"] }] },
    { a: null, b: null },
    { b: null },
  ],
  [
    "in the fitting branch of a union",
    z.object({
      o: z.union([
        z.object({ k: z.literal("x"), a: z.string().optional() }),
        z.object({ k: z.literal("y"), a: z.null() }),
      ]),
    }),
    { o: { k: "y", a: null } },
    { o: { k: "y", a: null } },
  ],
  ["written with an escape", z.object({ a: z.string().optional() }), '{"a":"\\u006eull"}', {}],
  [
    "an unknown null of the root stays",
    z.object({ a: z.number() }),
    { a: 1, b: null },
    { a: 1, b: null },
  ],
  [
    "a branch that forbids the null does not fit",
    open({ o: { anyOf: [open({ a: string }, ["a"]), open({ a: { type: "null" }, b: string })] } }),
    { o: { a: null, b: null } },
    { o: {} },
  ],
]);

// `safeParse`, then `{...input, ...data}`.
accepted([
  [
    "defaults come last, the order of the input stays",
    z.object({ b: z.number(), a: z.number().default(2) }),
    '{"z":1,"b":5,"y":2}',
    '{"z":1,"b":5,"y":2,"a":2}',
  ],
  [
    "unknown keys of the root stay, nested ones go",
    z.object({ o: z.object({ a: z.number() }) }),
    { o: { a: 1, x: 2 }, y: 3 },
    { o: { a: 1 }, y: 3 },
  ],
  ["a default list", z.object({ tags: z.array(z.string()).default([]) }), {}, { tags: [] }],
  [
    "trim and preprocess apply",
    z.object({ a: z.string().trim(), b: z.preprocess((v) => v ?? 1, z.number()) }),
    { a: " x " },
    { a: "x", b: 1 },
  ],
  [
    "asynchronous refinements",
    z.object({ a: z.string().refine(async (a) => a === "x") }),
    { a: "x" },
    { a: "x" },
  ],
  ["zod 3", z3.object({ a: z3.number().default(4) }), { x: 1 }, { x: 1, a: 4 }],
  ["a bare shape", { a: z.number().default(4) }, {}, { a: 4 }],
  ["arktype", type({ a: "number", c: "string = 'x'" }), { a: 1, z: 1 }, { a: 1, z: 1, c: "x" }],
  ["no parameters: all is kept", undefined, { a: null, b: "3" }, { a: null, b: "3" }],
  ["no arguments", z.object({}), "", {}],
  ["null for no arguments", z.object({}), "null", {}],
  [
    "a key called __proto__",
    open({ a: number }),
    '{"__proto__":{"x":1},"a":"3"}',
    '{"__proto__":{"x":1},"a":3}',
  ],
]);

// Repairs: strings that are JSON, unknown keys of strict objects.
accepted([
  ["a number", z.object({ a: z.number() }), { a: " 3.5 " }, { a: 3.5 }],
  ["an integer", z.object({ a: z.int() }), { a: "3" }, { a: 3 }],
  ["a boolean", z.object({ a: z.boolean() }), { a: "true" }, { a: true }],
  ["a null", z.object({ a: z.null() }), { a: "null" }, { a: null }],
  ["a list", z.object({ a: z.array(z.string()) }), { a: '["x"]' }, { a: ["x"] }],
  [
    "a record",
    z.object({ a: z.record(z.string(), z.number()) }),
    { a: '{"x":1}' },
    { a: { x: 1 } },
  ],
  ["a tuple", z.object({ a: z.tuple([z.number()]) }), { a: "[1]" }, { a: [1] }],
  [
    "JSON within JSON, pass by pass",
    z.object({ a: z.array(z.object({ n: z.number() })) }),
    { a: '[{"n":"3"}]' },
    { a: [{ n: 3 }] },
  ],
  [
    "placeholders that a repair uncovers",
    z.object({ a: z.object({ b: z.string().optional() }) }),
    { a: '{"b":null}' },
    { a: {} },
  ],
  [
    "a branch of a union",
    z.object({ a: z.union([z.number(), z.object({ b: z.number() })]) }),
    { a: { b: "1" } },
    { a: { b: 1 } },
  ],
  [
    "a union of scalars",
    z.object({ a: z.union([z.number(), z.array(z.string())]) }),
    { a: '["x"]' },
    { a: ["x"] },
  ],
  ["all arguments as a string", z.object({ a: z.number() }), JSON.stringify('{"a":1}'), { a: 1 }],
  [
    "unknown keys of strict objects go",
    z.strictObject({ o: z.strictObject({}) }),
    { o: { x: 1 }, y: 2 },
    { o: {} },
  ],
  [
    "zod 3",
    z3.object({ a: z3.number(), u: z3.union([z3.number(), z3.boolean()]) }).strict(),
    { a: "1", u: "true", x: 1 },
    { a: 1, u: true },
  ],
  ["arktype", type({ "+": "reject", a: "number" }), { a: "3", z: 1 }, { a: 3 }],
  [
    "JSON Schema",
    open({ a: number, o: open({}, [], { additionalProperties: false }) }),
    { a: "3", o: '{"x":1}' },
    { a: 3, o: {} },
  ],
  ["a string that fits stays a string", z.object({ a: z.string() }), { a: "[1]" }, { a: "[1]" }],
]);

const received = (expected, got) => `Invalid input: expected ${expected}, received ${got}`;

// What is not repaired. Messages are zod's, all of them, each with its path.
refused([
  [
    "all problems at once",
    z.object({ a: z.string(), b: z.object({ c: z.array(z.number()) }) }),
    { b: { c: [1, "x"] } },
    [`a: ${received("string", "undefined")}`, `b/c/1: ${received("number", "string")}`],
  ],
  [
    "a number is no string",
    z.object({ a: z.string() }),
    { a: 5 },
    [`a: ${received("string", "number")}`],
  ],
  [
    "an object is no string",
    z.object({ a: z.string() }),
    { a: { b: 1 } },
    [`a: ${received("string", "object")}`],
  ],
  [
    "one value is no list",
    z.object({ a: z.array(z.string()) }),
    { a: "x" },
    [`a: ${received("array", "string")}`],
  ],
  [
    "yes is no boolean",
    z.object({ a: z.boolean() }),
    { a: "yes" },
    [`a: ${received("boolean", "string")}`],
  ],
  [
    "1 is no boolean",
    z.object({ a: z.boolean() }),
    { a: 1 },
    [`a: ${received("boolean", "number")}`],
  ],
  [
    "numbers are strict",
    z.object({ a: z.number() }),
    { a: "007" },
    [`a: ${received("number", "string")}`],
  ],
  [
    "no number is rounded",
    z.object({ a: z.number() }),
    { a: "9007199254740993" },
    [`a: ${received("number", "string")}`],
  ],
  [
    "JSON is not healed",
    z.object({ a: z.array(z.string()) }),
    { a: '["x"' },
    [`a: ${received("array", "string")}`],
  ],
  [
    "a required null",
    z.object({ a: z.string() }),
    { a: null },
    [`a: ${received("string", "null")}`],
  ],
  [
    "a required empty string",
    z.object({ a: z.number() }),
    { a: "" },
    [`a: ${received("number", "string")}`],
  ],
  [
    "an enum",
    z.object({ a: z.enum(["x", "y"]) }),
    { a: "z" },
    ['a: Invalid option: expected one of "x"|"y"'],
  ],
  [
    "a union",
    z.object({ a: z.union([z.number(), z.boolean()]) }),
    { a: "x" },
    ["a: Invalid input"],
  ],
  [
    "an author's message",
    z.object({ a: z.string().refine(() => false, "not today") }),
    { a: "x" },
    ["a: not today"],
  ],
  [
    "an asynchronous one",
    z.object({ a: z.string().refine(async () => false, "not today") }),
    { a: "x" },
    ["a: not today"],
  ],
  [
    "a refinement that throws",
    z.object({
      a: z.string().refine(() => {
        throw new Error("boom");
      }),
    }),
    { a: "x" },
    ["root: The schema threw: boom"],
  ],
  ["the root", z.object({}), [], [`root: ${received("object", "array")}`]],
  ["arguments that are a number", z.object({}), "5", [`root: ${received("object", "number")}`]],
  ["no parameters, but a list", undefined, [1], [`root: ${received("object", "array")}`]],
  [
    "what a repair made is shown",
    z.object({ a: z.array(z.number()), b: z.string() }),
    { a: '["x"]', b: 1 },
    [`a/0: ${received("number", "string")}`, `b: ${received("string", "number")}`],
    { a: ["x"], b: 1 },
  ],
  [
    "what normalisation made is shown",
    z.object({ a: z.string().optional(), b: z.string() }),
    { a: null },
    [`b: ${received("string", "undefined")}`],
    {},
  ],
  ["arktype", type({ a: "number" }), { a: "x" }, ["a: must be a number (was a string)"]],
  [
    "JSON Schema",
    open({ a: number, l: { type: "array", items: number } }, ["z"]),
    { a: "x", l: ["y"] },
    ["root: must have required property 'z'", "a: must be number", "l/0: must be number"],
  ],
]);

// Defaults of TypeBox and JSON Schema.
const withDefault = (schema, value) => ({ ...schema, default: value });
accepted([
  ["a default of TypeBox", Type.Object({ a: Type.Integer({ default: 3 }) }), {}, { a: 3 }],
  [
    "inside of objects that are there",
    open({ o: open({ a: withDefault(number, 1) }), p: open({ a: withDefault(number, 1) }) }),
    { o: {} },
    { o: { a: 1 } },
  ],
  [
    "inside of a default",
    open({ o: withDefault(open({ a: withDefault(number, 1) }), {}) }),
    {},
    { o: { a: 1 } },
  ],
  [
    "in items and tuples",
    open({
      l: {
        type: "array",
        prefixItems: [open({ t: withDefault(number, 0) })],
        items: open({ a: withDefault(number, 1) }),
      },
    }),
    { l: [{}, {}] },
    { l: [{ t: 0 }, { a: 1 }] },
  ],
  [
    "through $ref",
    {
      ...open({ o: { $ref: "#/$defs/x" }, p: { $ref: "#/$defs/y" } }),
      $defs: { x: open({ a: withDefault(number, 1) }), y: withDefault(number, 2) },
    },
    { o: {} },
    { o: { a: 1 }, p: 2 },
  ],
  [
    "through allOf",
    {
      type: "object",
      allOf: [open({ a: withDefault(number, 1) }), open({ b: withDefault(number, 2) })],
    },
    {},
    { a: 1, b: 2 },
  ],
  [
    "of the branch that fits",
    open({
      o: {
        anyOf: [
          open({ k: { const: "x" }, a: withDefault(number, 1) }, ["k"]),
          open({ k: { const: "y" }, a: withDefault(number, 2) }, ["k"]),
        ],
      },
    }),
    { o: { k: "y" } },
    { o: { k: "y", a: 2 } },
  ],
  [
    "a required key with a default",
    open({ a: withDefault(number, 1) }, ["a"]),
    { a: null },
    { a: 1 },
  ],
  [
    "falsy values are values",
    open({ a: withDefault(number, 1), b: withDefault({ type: "boolean" }, true) }),
    { a: 0, b: false },
    { a: 0, b: false },
  ],
  [
    "of no branch if two fit",
    open({
      o: { anyOf: [open({ a: withDefault(number, 1) }), open({ a: withDefault(number, 2) })] },
    }),
    { o: {} },
    { o: {} },
  ],
]);

test("a default is the call's own", async () => {
  const tool = toolOf(open({ l: withDefault({ type: "array" }, []) }));
  const first = await prepareArguments(tool, "{}", check);
  first.args.l.push("mine");
  assert.deepEqual(await prepareArguments(tool, "{}", check), { ok: true, args: { l: [] } });
});

test("defaults without end come to an end", async () => {
  const loop = {
    ...open({ a: withDefault({ $ref: "#" }, {}), b: withDefault({ $ref: "#" }, {}) }),
  };
  const { ok, args } = await prepare(loop, {});
  assert.equal(ok, true);
  assert.ok(JSON.stringify(args).length < 1_000_000);
});

test("the validator sees the caller's own text while nothing was changed", async () => {
  const seen = [];
  const text = '{ "a": 9007199254740993 }';
  await prepareArguments(toolOf(open({ a: number })), text, (_, value) => {
    seen.push(value);
    return null;
  });
  assert.deepEqual(seen, [text]);
});

test("a JSON pointer tells keys with slashes apart", async () => {
  const issue = { pointer: "/a~1b", message: "no number", keyword: "type" };
  let asked = 0;
  const once = () => (asked++ === 0 ? [issue] : null);
  const prepared = await prepareArguments(toolOf(open({ "a/b": number })), '{"a/b":"3"}', once);
  assert.deepEqual(prepared, { ok: true, args: { "a/b": 3 } });
});

test("five passes of repairs and no more", async () => {
  // Nine layers: a list that holds a string that is JSON of a list that holds …
  let layers = "1";
  for (let layer = 0; layer < 9; layer++) layers = JSON.stringify([layers]);
  const list = { type: "array", items: { $ref: "#/$defs/list" } };
  const parameters = { ...open({ a: { $ref: "#/$defs/list" } }), $defs: { list } };
  let validations = 0;
  const refuseNextLayer = () => {
    const pointer = ["", "a", ...Array(validations).fill("0")].join("/");
    validations += 1;
    return [{ pointer, message: "no list", keyword: "type" }];
  };
  const tool = toolOf(parameters);
  const prepared = await prepareArguments(tool, JSON.stringify({ a: layers }), refuseNextLayer);
  assert.equal(prepared.ok, false);
  assert.equal(validations, 6);
});

test("an asynchronous schema is parsed asynchronously at once the second time", async () => {
  let runs = 0;
  const tool = toolOf(z.object({ a: z.string().refine(async () => ++runs > 0) }));
  await prepareArguments(tool, '{"a":"x"}', check);
  const before = runs;
  assert.deepEqual(await prepareArguments(tool, '{"a":"x"}', check), {
    ok: true,
    args: { a: "x" },
  });
  assert.equal(runs, before + 1);
});

test("a synchronous schema gives no promise", () => {
  assert.deepEqual(prepare(z.object({ a: z.number() }), { a: 1 }), { ok: true, args: { a: 1 } });
});

test("arguments that are no JSON", () => {
  const prepared = prepare(z.object({}), "{broken");
  assert.equal(prepared.ok, false);
  const [head, parseError, rawHead, raw] = prepared.text.split("\n");
  assert.equal(head, 'Validation failed for tool "t": Tool call arguments are not valid JSON.');
  assert.match(parseError, /^Parse Error: \S/);
  assert.deepEqual([rawHead, raw], ["Raw JSON:", "{broken"]);
});

test("long arguments that are no JSON are cut at 512 characters", () => {
  const { text } = prepare(z.object({}), `{${"x".repeat(600)}`);
  assert.ok(text.endsWith(`\nRaw JSON:\n{${"x".repeat(511)}… [truncated 89 chars]`), text);
});

test("long strings are cut at 256 characters, wherever they are", () => {
  const raw = { a: { b: ["x".repeat(300)] }, c: 1 };
  const { text } = prepare(z.object({ c: z.string() }), raw);
  const shown = JSON.parse(text.slice(text.indexOf("{")));
  assert.deepEqual(shown, { a: { b: [`${"x".repeat(256)}… [truncated 44 chars]`] }, c: 1 });
});

test("a cut never leaves half a character", () => {
  const { text } = prepare(z.object({ c: z.string() }), { a: `${"x".repeat(255)}😀!` });
  assert.ok(text.isWellFormed());
  assert.ok(text.includes(`${"x".repeat(255)}… [truncated 3 chars]`));
});

test("globals that a tool patched are not used", () => {
  const native = { parse: JSON.parse, stringify: JSON.stringify, keys: Object.keys };
  const patched = () => assert.fail("a patched global was called");
  const tool = toolOf(open({ a: number, b: string, c: withDefault(number, 1) }));
  const answers = [[{ pointer: "/a", message: "must be number", keyword: "type" }], null];
  JSON.parse = JSON.stringify = Object.keys = patched;
  let prepared;
  try {
    prepared = prepareArguments(tool, '{"a":"3","b":null}', () => answers.shift());
  } finally {
    Object.assign(JSON, { parse: native.parse, stringify: native.stringify });
    Object.keys = native.keys;
  }
  assert.deepEqual(prepared, { ok: true, args: { a: 3, c: 1 } });
});
