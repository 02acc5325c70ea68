// The order of `execute`'s arguments, told by the source of the function.

import assert from "node:assert/strict";
import { test } from "node:test";

import { importRuntime } from "./arguments_bundle.mjs";

const { argumentOrder, parametersOf } = await importRuntime("18_order.ts");

const PARAMETERS = [
  ["a function", "function execute(id, params) {}", ["id", "params"]],
  ["an arrow", "async (id, params, signal) => {}", ["id", "params", "signal"]],
  ["one parameter without brackets", "async id => {}", ["id"]],
  ["one that is called async", "async => 1", ["async"]],
  ["a method", "async *execute(id, params,) {}", ["id", "params"]],
  ["a method with a computed name", '["exec(" + "ute"](id, [a, b]) {}', ["id", "[a, b]"]],
  ["comments", "(id /* , x */, // ) y\n params) => 1", ["id", "params"]],
  [
    "defaults",
    "(id, params = { a: [1, 2], b: f(3, 4) }, c) => 1",
    ["id", "params = { a: [1, 2], b: f(3, 4) }", "c"],
  ],
  [
    "texts",
    `(a = '),(', b = "\\"),", c = \`)\${\`,\${1}\`},\`) => 1`,
    [`a = '),('`, `b = "\\"),"`, `c = \`)\${\`,\${1}\`},\``],
  ],
  [
    "regular expressions",
    "(a = /[)/,]\\/,/, b = 4 / 2, c) => 1",
    ["a = /[)/,]\\/,/", "b = 4 / 2", "c"],
  ],
  ["patterns", "(id, { a, b: { c } }, ...rest) => 1", ["id", "{ a, b: { c } }", "...rest"]],
  ["nothing", "() => 1", []],
  ["native code", "function bound execute() { [native code] }", undefined],
];

for (const [what, source, expected] of PARAMETERS) {
  test(`parameters: ${what}`, () => assert.deepEqual(parametersOf(source), expected));
}

const ORDERS = [
  ["pi", (_id, _params, _signal) => 1],
  ["pi", (_id, _params, abortSignal, _onUpdate, _ctx) => abortSignal],
  ["pi", (_id, _params, _s, _onUpdate) => 1],
  ["pi", (_a, _b, _c, _d, _ctx) => 1],
  ["pi", (_a, _b, { aborted }) => aborted],
  ["pi", (_a, _b, c) => c?.throwIfAborted()],
  ["pi", (_a, _b, c$) => fetch("x", { signal: c$ })],
  [undefined, (_id, _params, _onUpdate, _ctx, _signal) => 1],
  [undefined, (_id, _params, _onUpdate, _ctx) => 1],
  [undefined, (_id, _params, _, __, _signal) => 1],
  [undefined, (_id, _params, _onUpdate) => 1],
  [undefined, (_id, _params, _ctx) => 1],
  [undefined, (_a, _b, _c, _d) => 1],
  [undefined, (_a, _b, c) => c.reason],
  [undefined, (_id, _signal) => 1],
  [undefined, (...all) => all],
  [undefined, () => 1],
  [undefined, ((_id, _params, _signal) => 1).bind(null)],
];

for (const [expected, execute] of ORDERS) {
  test(`${expected ?? "the contract"}: ${execute}`, () =>
    assert.equal(argumentOrder(execute), expected));
}
