// Results, updates and errors in the one form (spec omp 8, demands 11).

import assert from "node:assert/strict";
import { test } from "node:test";

import { importRuntime } from "./arguments_bundle.mjs";

const { normaliseResult, thrownToResult, sanitiseText } = await importRuntime("25_result.ts");

const text = (...texts) => texts.map((one) => ({ type: "text", text: one }));
const image = { type: "image", data: "aGk=", mimeType: "image/png" };
const sound = { type: "audio", data: "aGk=", mimeType: "audio/wav" };
const thing = { type: "resource", resource: { uri: "a:b", mimeType: "text/plain", text: "hi" } };
const bytes = { type: "resource", resource: { uri: "a:b", blob: "aGk=" } };
const link = { type: "resource_link", uri: "a:b", name: "b" };
const invalid = "Tool returned an invalid result:";
const missing = `${invalid} missing content array.`;

/** Each line: what, what the tool returned, content, isError, details, more. */
const RESULTS = [
  ["text", { content: text("hi") }, text("hi"), false],
  ["text and image", { content: [...text("hi"), image] }, [...text("hi"), image], false],
  ["sound", { content: [sound] }, [sound], false],
  ["a thing and its address", { content: [thing, bytes, link] }, [thing, bytes, link], false],
  ["what is more of a thing goes", { content: [{ ...link, size: 5, title: 7 }] }, [link], false],
  [
    "hints for clients",
    {
      content: [
        {
          ...image,
          annotations: { audience: ["user", "nobody"], priority: 0.5, colour: 1 },
          _meta: { a: new Map([["b", 1n]]) },
        },
        { ...link, annotations: { priority: 2, lastModified: 7 }, _meta: [1] },
        { ...text("hi")[0], annotations: null, _meta: "text" },
      ],
    },
    [
      { ...image, annotations: { audience: ["user"], priority: 0.5 }, _meta: { a: { b: "1" } } },
      link,
      ...text("hi"),
    ],
    false,
  ],
  ["details are kept", { content: text("hi"), details: { n: 1 } }, text("hi"), false, { n: 1 }],
  ["details that are a list", { content: [], details: [1] }, [], false, [1]],
  ["details that are falsy", { content: [], details: 0 }, [], false, 0],
  ["null details", { content: [], details: null }, [], false],
  ["details that JSON has no word for", { content: [], details: () => 1 }, [], false],
  ["no content at all is no error", { content: [] }, [], false],
  ["isError", { content: text("no"), isError: true }, text("no"), true],
  [
    "isError without content",
    { content: [], isError: true },
    text("Tool failed with no output."),
    true,
  ],
  [
    "isError with blank content",
    { content: text(" \n"), isError: true },
    text("Tool failed with no output."),
    true,
  ],
  ["isError with an image only", { content: [image], isError: true }, [image], true],
  [
    "useless",
    { content: text("0 hits"), useless: true },
    text("0 hits"),
    false,
    {},
    { useless: true },
  ],
  [
    "an error is never useless",
    { content: text("no"), isError: true, useless: true },
    text("no"),
    true,
  ],
  [
    "unknown keys go",
    {
      content: [
        { type: "text", text: "hi", signature: "s" },
        { ...image, alt: "a" },
      ],
      extra: 1,
    },
    [...text("hi"), image],
    false,
  ],
  ["a plain string", "hi", text(missing), true],
  ["undefined", undefined, text(missing), true],
  ["null", null, text(missing), true],
  ["a number", 5, text(missing), true],
  ["no content", { details: { n: 1 } }, text(missing), true, { n: 1 }],
  ["content that is a string", { content: "hi" }, text(missing), true],
  ["a lone text block", { type: "text", text: "hi" }, text(missing), true],
  [
    "one unsupported block",
    { content: [...text("hi"), { type: "video" }] },
    text("hi", `${invalid} 1 content block had an unsupported shape.`),
    true,
  ],
  [
    "several unsupported blocks",
    {
      content: [
        null,
        "x",
        { type: "text", text: 1 },
        { type: "image", data: "x" },
        [],
        { text: "x" },
      ],
    },
    text(`${invalid} 6 content blocks had an unsupported shape.`),
    true,
  ],
  [
    "a hole in the list",
    { content: Object.assign(Array(2), { 1: text("hi")[0] }) },
    text("hi", `${invalid} 1 content block had an unsupported shape.`),
    true,
  ],
  [
    "text is cleaned",
    { content: text("\x1b[31mred\x1b[0m\r\nnext\tcolumn\x07") },
    text("red\nnext\tcolumn"),
    false,
  ],
  [
    "a getter that throws",
    {
      get content() {
        throw new Error("boom");
      },
    },
    text(`${invalid} boom`),
    true,
  ],
  [
    "a revoked proxy",
    revoked(),
    text(`${invalid} Cannot perform 'get' on a proxy that has been revoked`),
    true,
  ],
];

for (const [what, value, content, isError, details = {}, more = {}] of RESULTS) {
  test(`result: ${what}`, () => {
    assert.deepEqual(normaliseResult(value), { content, details, isError, ...more });
  });
}

function revoked() {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

class TimeoutError extends Error {
  name = "TimeoutError";
}
const unnamed = new AggregateError([new Error("connect ::1"), new Error("connect 127.0.0.1")]);

const THROWN = [
  ["an error", new Error("boom"), "boom"],
  ["a message with colours", new Error("\x1b[1mboom\x1b[0m"), "boom"],
  ["a string", "boom", "boom"],
  ["an object", { message: "boom" }, "[object Object]"],
  ["undefined", undefined, "undefined"],
  ["a symbol", Symbol("x"), "Symbol(x)"],
  [
    "an abort",
    new DOMException("This operation was aborted", "AbortError"),
    "This operation was aborted",
  ],
  ["an error without a message", new Error(""), "Tool failed with no output."],
  ["a named error without a message", new TimeoutError(""), "TimeoutError"],
  ["an aggregate without a message", unnamed, "connect ::1\nconnect 127.0.0.1"],
  [
    "an object without a prototype",
    Object.create(null),
    "Tool threw an error that cannot be shown.",
  ],
  ["a revoked proxy", revoked(), "Tool threw an error that cannot be shown."],
];

for (const [what, error, expected] of THROWN) {
  test(`thrown: ${what}`, () => {
    assert.deepEqual(thrownToResult(error), {
      content: text(expected),
      details: {},
      isError: true,
    });
  });
}

const CLEANED = [
  ["plain text is the same", "hello\n\tthere é 😀", "hello\n\tthere é 😀"],
  ["colours", "\x1b[1;38;5;12mblue\x1b[39;22m", "blue"],
  ["colours in one byte", "\x9b31mred\x9bm", "red"],
  ["cursor and screen", "\x1b[2J\x1b[?25lhi\x1b[1A\x1b(B\x1b=", "hi"],
  ["a link", "\x1b]8;;https://example.org\x07here\x1b]8;;\x1b\\", "here"],
  ["a device string", "\x1bPq#0;1\x1b\\after", "after"],
  ["an unfinished sequence loses only its start", "\x1b]0;title and text", "0;title and text"],
  ["an escape at the end", "text\x1b", "text"],
  ["CRLF", "a\r\nb\rc", "a\nbc"],
  ["control characters", "a\0b\bc\x7fd\x85e\vf", "abcdef"],
  ["half a surrogate pair", "a\ud83db\ude00c😀", "a\ufffdb\ufffdc😀"],
];

for (const [what, dirty, clean] of CLEANED) {
  test(`cleaned: ${what}`, () => assert.equal(sanitiseText(dirty), clean));
}

test("cleaning takes linear time for hostile text", () => {
  const time = (length) => {
    const hostile = "\x1b]".repeat(length) + "\x1bP".repeat(length) + "\x1b[1;".repeat(length);
    const start = process.hrtime.bigint();
    sanitiseText(hostile);
    return Number(process.hrtime.bigint() - start);
  };
  time(50_000);
  // Sixteen times the text; quadratic cleaning would take 256 times as long.
  assert.ok(time(800_000) < 100 * time(50_000));
});
