// Patterns of names, toolsets, and names for model providers.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

const require = createRequire(import.meta.url);
const { providerNames, selectionOf, selector, toolsetsIn } = require("../dist/names.js");

test("patterns", () => {
  const cases = [
    ["git_*", "git_log", "agit_log"],
    ["a?c", "abc", "ac"],
    ["[ab]x", "bx", "cx"],
    ["[!ab]x", "cx", "ax"],
    ["{one,t*o}", "two", "three"],
    ["a.b+c", "a.b+c", "aXbbc"],
    ["", "", "a"],
  ];
  for (const [include, yes, no] of cases) {
    const takes = selector({ include });
    assert.deepEqual([takes(yes), takes(no)], [true, false], include);
  }
  const takes = selector({ include: ["a*", "b"], exclude: ["ab*"] });
  assert.deepEqual(["a", "b", "ab", "c"].map(takes), [true, true, false, false]);
  assert.throws(() => selector({ include: "{a" })("a"), { kind: "usage" });
});

test("toolsets of the output of `haft config`", () => {
  const output = [
    "rename",
    "toolsets.review      git_*, !git_push      /home/ada/.config/haft/config.yaml:2",
    "toolsets.two words   a, b   project",
    "disabled_providers          default",
  ].join("\n");
  const sets = toolsetsIn(output);
  assert.deepEqual(
    [...sets],
    [
      ["review", ["git_*", "!git_push"]],
      ["two words", ["a", "b"]],
    ],
  );
  const takes = selector(selectionOf(sets, ["review", "two words"]));
  const names = ["git_log", "git_push", "a", "c"];
  assert.deepEqual(names.filter(takes), ["git_log", "a"]);
  assert.throws(() => selectionOf(new Map(), ["x"]), { kind: "usage" });
  assert.equal(selector(selectionOf(new Map([["none", ["!a"]]]), ["none"]))("b"), false);
});

test("names that providers refuse get an alias", () => {
  const long = "x".repeat(70);
  const names = providerNames(["ok", "a.b", "a_b", "a b", long, "ä"]);
  assert.deepEqual([...names.values()], ["ok", "a_b_2", "a_b", "a_b_3", "x".repeat(60), "_"]);
});
