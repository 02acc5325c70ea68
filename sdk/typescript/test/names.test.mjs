// Patterns of names, and names for model providers.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { test } from "node:test";

const require = createRequire(import.meta.url);
const { providerNames, selector } = require("../dist/names.js");

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

test("names that providers refuse get an alias", () => {
  const long = "x".repeat(70);
  const names = providerNames(["ok", "a.b", "a_b", "a b", long, "ä"]);
  assert.deepEqual([...names.values()], ["ok", "a_b_2", "a_b", "a_b_3", "x".repeat(60), "_"]);
});
