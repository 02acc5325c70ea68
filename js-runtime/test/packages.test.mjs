// The scripts as a whole: their form, that they need nothing at evaluation, that there is one of each.

import assert from "node:assert/strict";
import { performance } from "node:perf_hooks";
import { test } from "node:test";
import vm from "node:vm";

import { bundlePackages } from "../packages/bundle.mjs";
import { bareContext, evaluate } from "../packages/evaluate.mjs";
import { freshLoader, load, notices, scripts } from "./packages_host.mjs";

const PI = ["pi-agent-core", "pi-ai", "pi-coding-agent", "pi-tui"];

test("every script is one expression that the engine can wrap", () => {
  for (const { name, text } of scripts) {
    assert.ok(text.startsWith("(function () {\n"), name);
    assert.ok(text.trimEnd().endsWith("})()"), name);
    // deno_core gives V8 the sources of extensions as one-byte text.
    assert.doesNotMatch(text, /[^\x00-\x7f]/, name);
    new vm.Script(`"use strict"; return_ = (${text.trim()});`);
  }
});

test("every script is evaluated without Node, timers, the network or another script", () => {
  for (const { name, text } of scripts) {
    // arktype looks for a debugging variable in the environment if there is one.
    const allowed = name === "arktype" ? ["process"] : [];
    const touched = [];
    const forbidden = [
      "process",
      "Buffer",
      "require",
      "setTimeout",
      "setInterval",
      "fetch",
      "document",
    ];
    const context = bareContext();
    for (const global of forbidden) {
      Object.defineProperty(context, global, { get: () => touched.push(global) && undefined });
    }
    for (const hook of ["haft.package", "haft.builtin"]) {
      Object.defineProperty(context, Symbol.for(hook), {
        get: () => touched.push(hook) && undefined,
      });
    }
    evaluate(name, text, context);
    assert.deepEqual(new Set(touched), new Set(allowed), name);
  }
});

test("the table names what the scripts export", () => {
  const { load } = freshLoader();
  for (const { name, exports } of scripts) {
    assert.deepEqual(Object.keys(load(name)).sort(), exports, name);
    assert.ok(!exports.some((key) => key.startsWith("__")), name);
    assert.ok(exports.length > 0 || name.endsWith("-tools"), name);
  }
});

test("every export of every package can be read", () => {
  for (const { name, exports } of scripts) {
    for (const key of exports) assert.notEqual(load(name)[key], undefined, `${name}.${key}`);
  }
});

test("a specifier means one script", () => {
  const all = scripts.flatMap(({ specifiers }) => specifiers);
  assert.equal(new Set(all).size, all.length);
  for (const specifier of [
    "zod",
    "zod/v4",
    "zod/v3",
    "@sinclair/typebox",
    "@sinclair/typebox/value",
  ]) {
    assert.ok(all.includes(specifier), specifier);
  }
  for (const specifier of ["typebox", "typebox/value", "arktype", "zod-to-json-schema", "bun"]) {
    assert.ok(all.includes(specifier), specifier);
  }
  for (const scope of ["@oh-my-pi", "@mariozechner", "@earendil-works"]) {
    for (const name of PI) assert.ok(all.includes(`${scope}/${name}`), `${scope}/${name}`);
  }
});

test("bundling twice gives the same bytes", async () => {
  assert.deepEqual((await bundlePackages()).scripts, scripts);
});

test("the licences of what is inside are there", () => {
  const names = ["zod", "@sinclair/typebox", "typebox", "arktype", "yaml", "mrmime", "picomatch"];
  for (const name of [...names, "semver", "@earendil-works/pi-tui", "marked"]) {
    assert.match(notices, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\(`, "m"));
  }
});

test("there is one zod", () => {
  const zod = load("zod");
  const pi = load("pi-coding-agent");
  assert.equal(pi.zod.object, zod.object);
  assert.equal(pi.z, zod.z);
  assert.equal(load("pi-ai").z.string, zod.string);
  assert.equal(zod.default, zod.z);
  assert.equal(zod.z.object, zod.object);
  assert.equal(load("zod-core").toJSONSchema, zod.core.toJSONSchema);
  assert.ok(pi.z.string() instanceof zod.ZodString);
});

test("classes that are recognised by their name have it", () => {
  const names = [load("zod-v3").ZodObject, load("bun").BunFile, load("pi-coding-agent").Settings];
  assert.deepEqual(
    names.map(({ name }) => name),
    ["ZodObject", "BunFile", "Settings"],
  );
});

test("zod makes and reads JSON Schema", () => {
  const { z, toJSONSchema, fromJSONSchema } = load("zod");
  const schema = toJSONSchema(z.object({ a: z.string().describe("d"), b: z.int().default(1) }));
  assert.deepEqual(schema.properties.a, { type: "string", description: "d" });
  assert.deepEqual(fromJSONSchema(schema).parse({ a: "x" }), { a: "x", b: 1 });
});

test("zod speaks English, and other languages when one is named", () => {
  const { load, asked } = freshLoader();
  const zod = load("zod");
  assert.match(
    zod.string().safeParse(1).error.issues[0].message,
    /^Invalid input: expected string/,
  );
  assert.deepEqual(asked, ["zod"]);
  assert.match(
    zod.locales.de().localeError({ code: "invalid_type", expected: "string", input: 1 }),
    /Ungültige Eingabe/,
  );
  assert.deepEqual(asked, ["zod", "zod-locales"]);
});

test("zod 3 becomes JSON Schema with its own converter", () => {
  const { z } = load("zod-v3");
  const { zodToJsonSchema } = load("zod-to-json-schema");
  const { properties, required } = zodToJsonSchema(
    z.object({ a: z.string(), b: z.number().optional() }),
  );
  assert.deepEqual([properties.a, required], [{ type: "string" }, ["a"]]);
});

test("a format that is set on TypeBox is known to its subpaths", () => {
  const { FormatRegistry, Type } = load("typebox");
  const { Value } = load("typebox-tools-value");
  const { TypeCompiler } = load("typebox-tools-compiler");
  const schema = Type.String({ format: "even" });
  FormatRegistry.Set("even", (text) => text.length % 2 === 0);
  assert.deepEqual([Value.Check(schema, "ab"), Value.Check(schema, "abc")], [true, false]);
  assert.equal(TypeCompiler.Compile(schema).Check("abc"), false);
  assert.deepEqual(Value.Default(Type.Object({ a: Type.Number({ default: 3 }) }), {}), { a: 3 });
});

test("settings of TypeBox and its policy are shared as well", () => {
  const { Settings } = load("typebox-1-tools-system");
  const { Object: object, String: string } = load("typebox-1");
  const { TypeSystemPolicy } = load("typebox-tools-system");
  const { Type } = load("typebox");
  TypeSystemPolicy.InstanceMode = "freeze";
  assert.ok(Object.isFrozen(Type.String()));
  TypeSystemPolicy.InstanceMode = "default";
  Settings.Set({ immutableTypes: true });
  assert.ok(Object.isFrozen(object({ a: string() })));
  Settings.Reset();
});

test("TypeBox 1 checks", () => {
  const { Type } = load("typebox-1");
  const { Value } = load("typebox-1-tools-value");
  const schema = Type.Object({ a: Type.Optional(Type.Number()) });
  assert.deepEqual([Value.Check(schema, { a: 1 }), Value.Check(schema, { a: "1" })], [true, false]);
});

test("arktype reads a definition", () => {
  const { type } = load("arktype");
  const user = type({ name: "string", "age?": "number.integer > 0" });
  assert.deepEqual(user({ name: "Ada", age: 36 }), { name: "Ada", age: 36 });
  assert.ok(user({ name: 1 }) instanceof type.errors);
});

test("the namespace of the coding agent loads no other package before it is used", () => {
  const { load, asked } = freshLoader();
  const pi = load("pi-coding-agent");
  assert.deepEqual(asked, ["pi-coding-agent"]);
  assert.equal(new pi.Text("hi", 0, 0).render(4).join("|"), "hi  ");
  assert.deepEqual(asked, ["pi-coding-agent", "pi-tui"]);
});

test("what scripts weigh", (t) => {
  for (const { name, text, specifiers } of scripts) {
    if (text.length < 5000) continue;
    const context = bareContext();
    const start = performance.now();
    evaluate(name, text, context);
    const time = (performance.now() - start).toFixed(1);
    t.diagnostic(
      `${name}: ${Math.round(text.length / 1024)} KB, ${time} ms (${specifiers[0] ?? "inner"})`,
    );
  }
});

test("members of an agent are stand-ins: one each, and classes where errors are asked for", () => {
  const ai = load("ai-sdk");
  assert.equal(ai.streamText, ai.streamText);
  assert.throws(
    () => ai.streamText({}),
    /`streamText` of ai is not available here: haft calls no models/,
  );
  assert.equal(ai.NoSuchToolError.isInstance(new Error("x")), false);
  assert.equal(new Error("x") instanceof ai.NoSuchToolError, false);
  assert.equal(new ai.APICallError("gone").name, "APICallError");
  assert.throws(() => load("claude-agent-sdk").query({}), /`query` of claude-agent-sdk is not/);
  assert.throws(() => new (load("copilot-sdk").CopilotClient)(), /`CopilotClient` of @github/);
});

test("helpers of the AI SDK work without a model", () => {
  const { cosineSimilarity, createIdGenerator, generateId } = load("ai-sdk");
  assert.match(generateId(), /^[0-9A-Za-z]{16}$/);
  assert.match(createIdGenerator({ prefix: "call", size: 4, alphabet: "x" })(), /^call-xxxx$/);
  assert.equal(cosineSimilarity([1, 0], [0, 1]), 0);
  assert.equal(cosineSimilarity([3, 4], [6, 8]), 1);
  assert.throws(() => cosineSimilarity([1], [1, 2]), {
    message: "the vectors have 1 and 2 numbers",
  });
});
