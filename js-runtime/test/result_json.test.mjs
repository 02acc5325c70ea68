// Results as JSON text: fast and native for plain data, careful for everything else.

import assert from "node:assert/strict";
import { test } from "node:test";

import { importRuntime } from "./arguments_bundle.mjs";

const { toJson, carefulJson, MAX_RESULT_CHARS } = await importRuntime("25_result.ts");

const result = (details, content = []) => ({ content, details, isError: false });
const shown = (details) => JSON.parse(toJson(result(details))).details;
const throws = (message) => () => {
  throw new Error(message);
};

function cyclic() {
  const object = { name: "me", list: [] };
  object.list.push(object);
  return object;
}

const shared = { s: 1 };

const SHOWN = [
  ["plain data", { a: [1, "x", null, true], b: {} }, { a: [1, "x", null, true], b: {} }],
  [
    "what JSON leaves out",
    { a: undefined, b: () => 1, c: Symbol("x"), d: [undefined, () => 1] },
    { d: [null, null] },
  ],
  ["numbers that JSON does not have", [NaN, Infinity, -0], [null, null, 0]],
  ["a cycle", cyclic(), { name: "me", list: ["[Circular]"] }],
  [
    "the same object twice is no cycle",
    { big: 1n, a: shared, b: [shared] },
    { big: "1", a: { s: 1 }, b: [{ s: 1 }] },
  ],
  ["a BigInt", { n: 12345678901234567890n }, { n: "12345678901234567890" }],
  [
    "a getter that throws",
    {
      get a() {
        throw new Error("boom");
      },
      b: 1,
    },
    { a: "[Threw: boom]", b: 1 },
  ],
  ["toJSON that throws", { a: { toJSON: throws("boom") }, b: 1 }, { a: "[Threw: boom]", b: 1 }],
  ["toJSON", { big: 1n, a: { toJSON: () => ({ x: 1n }) } }, { big: "1", a: { x: "1" } }],
  [
    "toJSON that answers itself",
    (() => {
      const o = {
        big: 1n,
        toJSON() {
          return this;
        },
      };
      return { o };
    })(),
    { o: { big: "1" } },
  ],
  [
    "a proxy that throws",
    { p: new Proxy({}, { ownKeys: throws("boom") }), b: 1 },
    { p: "[Threw: boom]", b: 1 },
  ],
  [
    "a proxy whose fields throw",
    { p: new Proxy({ a: 1 }, { get: throws("boom") }) },
    { p: "[Threw: boom]" },
  ],
  [
    "a date",
    { at: new Date(0), never: new Date(NaN), big: 1n },
    { at: "1970-01-01T00:00:00.000Z", never: null, big: "1" },
  ],
  ["a map", { m: new Map([["a", new Map([[1, 2]])]]) }, { m: { a: [[1, 2]] } }],
  ["a set", { s: new Set([1, new Set(["x"])]) }, { s: [1, ["x"]] }],
  [
    "an error",
    { e: new TypeError("boom", { cause: new Error("why") }) },
    { e: { name: "TypeError", message: "boom", cause: { name: "Error", message: "why" } } },
  ],
  [
    "an error with fields",
    { e: Object.assign(new Error("gone"), { code: "ENOENT" }) },
    { e: { name: "Error", message: "gone", code: "ENOENT" } },
  ],
  ["a regular expression", { r: /a+/g }, { r: "/a+/g" }],
  [
    "bytes",
    {
      b: new Uint8Array([1, 2]),
      f: new Float32Array([0.5]),
      v: new DataView(new ArrayBuffer(1)),
      a: new Uint8Array([7]).buffer,
    },
    { b: [1, 2], f: [0.5], v: [0], a: [7] },
  ],
  ["64-bit numbers", { b: new BigInt64Array([5n]) }, { b: ["5"] }],
  [
    "a Buffer, as Node shows it",
    { b: Buffer.from("hi"), big: 1n },
    { b: { type: "Buffer", data: [104, 105] }, big: "1" },
  ],
  [
    "boxed values",
    { s: new String("x"), n: new Number(1), b: new Boolean(false), big: 1n },
    { s: "x", n: 1, b: false, big: "1" },
  ],
  [
    "a key called __proto__",
    JSON.parse('{"__proto__":{"a":{}}}'),
    JSON.parse('{"__proto__":{"a":{}}}'),
  ],
  ["half a surrogate pair", { a: "x\ud83d", "k\udc00": 1 }, { a: "x\ufffd", "k\ufffd": 1 }],
  [
    "an instance",
    {
      i: new (class {
        a = 1;
        #b = 2;
        get c() {
          return this.#b;
        }
      })(),
      e: {},
    },
    { i: { a: 1 }, e: {} },
  ],
  ["details that are a map", new Map([["a", 1]]), { a: 1 }],
];

for (const [what, details, expected] of SHOWN) {
  test(`shown: ${what}`, () => assert.deepEqual(shown(details), expected));
}

test("too deep data ends with a mark", () => {
  let deep = { big: 1n };
  for (let depth = 0; depth < 1000; depth++) deep = [deep];
  let value = shown(deep);
  let depth = 0;
  while (Array.isArray(value)) [value] = [value[0], depth++];
  assert.deepEqual([value, depth > 400], ["[Too deep]", true]);
});

test("plain data costs one native call, captured before any tool ran", async () => {
  const native = JSON.stringify;
  let calls = 0;
  JSON.stringify = (...given) => {
    calls += 1;
    return native(...given);
  };
  let counted;
  try {
    counted = await importRuntime("25_result.ts");
  } finally {
    JSON.stringify = native;
  }
  calls = 0;
  const text = counted.toJson(result({ a: 1 }));
  assert.deepEqual([text, calls], ['{"content":[],"details":{"a":1},"isError":false}', 1]);
  JSON.stringify = () => "patched";
  try {
    assert.equal(toJson(result({ a: 1 })), text);
  } finally {
    JSON.stringify = native;
  }
});

test("the order of the keys is the tool's", () => {
  assert.equal(carefulJson({ z: 1, a: { y: 1n, b: 2 } }), '{"z":1,"a":{"y":"1","b":2}}');
});

test("toJSON on the prototype of everything has no say", () => {
  Object.prototype.toJSON = () => "mine";
  Array.prototype.toJSON = () => "mine";
  let text;
  try {
    text = toJson(result({ a: [1] }, [{ type: "text", text: "hi" }]));
  } finally {
    delete Object.prototype.toJSON;
    delete Array.prototype.toJSON;
  }
  assert.equal(
    text,
    '{"content":[{"type":"text","text":"hi"}],"details":{"a":[1]},"isError":false}',
  );
});

const tooLarge = (measure) => ({
  content: [
    {
      type: "text",
      text: `Tool returned an invalid result: it is ${measure} the limit of 1 MB. Write the data to a file and return its path.`,
    },
  ],
  details: {},
  isError: true,
});
const MB = 1024 * 1024;

for (const [what, value, measure] of [
  ["text", result({}, [{ type: "text", text: "x".repeat(2 * MB) }]), "larger than"],
  [
    "an image",
    result({}, [{ type: "image", data: "x".repeat(2 * MB), mimeType: "image/png" }]),
    "larger than",
  ],
  ["details", result({ list: Array(200_000).fill("0123456789") }), "2.5 MB of JSON, above"],
  ["a buffer", result({ b: new Uint8Array(2 * MB) }), "larger than"],
  ["careful details", result({ big: 1n, list: Array(200_000).fill("0123456789") }), "larger than"],
  ["a careful string", result({ big: 1n, in: { s: "x".repeat(2 * MB) } }), "larger than"],
  ["a bomb of references", result(bomb()), "larger than"],
]) {
  test(`too large: ${what}`, () =>
    assert.deepEqual(JSON.parse(toJson(value, MB)), tooLarge(measure)));
}

// 2^60 leaves in 60 objects; the cycle keeps native JSON from trying.
function bomb() {
  let node = { leaf: 1n };
  for (let depth = 0; depth < 60; depth++) node = { a: node, b: node };
  return node;
}

test("200 MB of text are refused without a copy", () => {
  const text = "x".repeat(200 * MB);
  const before = process.memoryUsage().rss;
  const { isError } = JSON.parse(toJson(result({}, [{ type: "text", text }])));
  assert.equal(isError, true);
  assert.ok(process.memoryUsage().rss - before < 100 * MB);
  assert.ok(text.length > MAX_RESULT_CHARS);
});

// A small generator of random JSON; the seed makes a failure repeatable.
function randomly(seed) {
  let state = seed;
  const next = (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const strings = ["", "a", "ä😀", '"quoted\\"', "\n\u0001", "__proto__", "0", "10", "2", "toJSON"];
  const value = (depth) => {
    switch (next(depth > 4 ? 5 : 8)) {
      case 0:
        return null;
      case 1:
        return next(2) === 1;
      case 2:
        return next(2_000_000) - 1_000_000;
      case 3:
        return (next(1_000_000) - 500_000) / 2 ** next(60);
      case 4:
        return strings[next(strings.length)];
      case 5:
        return Array.from({ length: next(5) }, () => value(depth + 1));
      default:
        return Object.fromEntries(
          Array.from({ length: next(5) }, () => [strings[next(strings.length)], value(depth + 1)]),
        );
    }
  };
  return value(0);
}

test("the careful way writes plain data as native JSON does", () => {
  for (let seed = 0; seed < 5000; seed++) {
    const value = randomly(seed);
    assert.equal(carefulJson(value), JSON.stringify(value), `seed ${seed}`);
  }
});
