// Components and helpers of pi-tui that few tools use: tabs, a scrolled view, formulas, keys, wrapping.

import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "./packages_host.mjs";

const tui = load("pi-tui");
const pi = load("pi-coding-agent");
const { satisfies, order } = load("bun").semver;

test("tabs: labels become short and lines break where there is no room", () => {
  const plain = (text) => text;
  const theme = { label: plain, activeTab: (text) => `[${text}]`, inactiveTab: plain, hint: plain };
  const tabs = [
    { id: "a", label: "Alpha", short: "A" },
    { id: "b", label: "Beta", short: "B" },
    { id: "c", label: "Gamma", muted: true },
  ];
  const bar = new tui.TabBar("S", tabs, theme);
  assert.deepEqual(bar.render(80), ["S:  [ Alpha ]   Beta    Gamma   (tab to cycle)"]);
  assert.deepEqual(bar.render(40), ["S:  [ Alpha ]   B    Gamma   ", "(tab to cycle)"]);
  for (const line of bar.render(5)) assert.ok(tui.visibleWidth(line) <= 5);
  const seen = [];
  bar.onTabChange = (tab, index) => seen.push([tab.id, index]);
  assert.ok(bar.handleInput("\t"));
  assert.ok(bar.handleInput("\x1b[C"));
  assert.ok(!bar.handleInput("x"));
  assert.deepEqual(seen, [
    ["b", 1],
    ["a", 0],
  ]);
  assert.ok(!bar.selectTab("c"));
  assert.ok(bar.setActiveById("b"));
  bar.setTabs(tabs.slice(1));
  assert.equal(bar.getActiveTab().id, "b");
});

test("a scrolled view: keys move it, the bar shows where it is", () => {
  const view = new tui.ScrollView(["1", "2", "3", "4", "5", "6"], { height: 3 });
  assert.deepEqual(view.render(5), ["1   █", "2   │", "3   │"]);
  assert.ok(view.handleScrollKey("\x1b[6~"));
  assert.equal(view.getScrollOffset(), 2);
  assert.ok(view.handleScrollKey("\x1b[F"));
  assert.deepEqual(view.render(5), ["4   │", "5   │", "6   █"]);
  assert.ok(!view.handleScrollKey("x"));
  view.setLines(["1"]);
  assert.deepEqual(view.render(5), ["1", "", ""]);
});

const FORMULAS = [
  ["$x_1^2 \\leq \\frac{a+b}{2}$", "x₁² ≤ (a+b)/2"],
  ["\\sqrt[3]{x_{ij}} \\to \\mathbb{R}", "∛xᵢⱼ → ℝ"],
  ["e^{-x^2/2}", "e^(-x²/2)"],
  ["\\sin\\theta \\cdot \\text{if } n", "sin θ · if n"],
  ["\\unknown{x}{y} \\{a\\}", "\\unknown{x}{y} \\{a\\}"],
  ["plain text", "plain text"],
  ["{{{", "{{{"],
  ["\\", "\\"],
];
for (const [latex, expected] of FORMULAS) {
  test(`formula: ${latex}`, () => assert.equal(tui.latexToUnicode(latex), expected));
}

test("keys have the names that tools compare", () => {
  const names = ["\x1b[5~", "\x1b[6;2~", "A", "a", "\x1b[Z"].map((data) => tui.parseKey(data));
  assert.deepEqual(names, ["pageUp", "shift+pageDown", "A", "a", "shift+tab"]);
  for (const name of ["pageUp", "pageup", tui.Key.pageUp])
    assert.ok(tui.matchesKey("\x1b[5~", name));
  assert.ok(tui.matchesKey("A", "shift+a"));
});

test("wrapped lines have no blanks at their end, others keep theirs", () => {
  assert.deepEqual(tui.wrapTextWithAnsi("hello world  foo bar  ", 6), [
    "hello",
    "world",
    "foo",
    "bar",
  ]);
  assert.deepEqual(tui.wrapTextWithAnsi("   lead  ", 20), ["   lead  "]);
});

test("a diff: lines with numbers, and some around them", () => {
  const { diff, firstChangedLine } = pi.generateDiffString("a\nb\nc\nd\ne", "a\nb\nc\nX\nY\ne", 1);
  assert.equal(diff, " 3 c\n-4 d\n+4 X\n+5 Y\n 5 e");
  assert.equal(firstChangedLine, 4);
  assert.deepEqual(pi.generateDiffString("a", "a"), { diff: "", firstChangedLine: undefined });
  assert.equal(tui.stripTerminalSequences(pi.renderDiff(diff)), diff);
});

test("a patch, and one of texts that differ in too many lines", () => {
  const head = "--- f\n+++ f\n@@ -1,2 +1,3 @@\n";
  assert.equal(pi.generateUnifiedPatch("f", "a\nb\n", "a\nb\nc\n"), `${head} a\n b\n+c\n`);
  const many = (name) => Array.from({ length: 3000 }, (_, line) => `${name}${line}`).join("\n");
  const patch = pi.generateUnifiedPatch("f", many("a"), many("b")).split("\n");
  assert.deepEqual(patch.slice(2, 4), ["@@ -1,3000 +1,3000 @@", "-a0"]);
  assert.deepEqual(patch.slice(3002, 3004), ["-a2999", "+b0"]);
  const { diff } = pi.generateDiffString(many("a"), many("b"));
  assert.deepEqual(diff.split("\n").slice(2999, 3001), ["-3000 a2999", "+   1 b0"]);
});

const RANGES = [
  ["1.2.3", "^1.2", true],
  ["0.3.0", "^0.2.1", false],
  ["0.0.4", "^0.0.3", false],
  ["1.5.0", "~1.4", false],
  ["1.4.9", "~1.4.2", true],
  ["2.0.0", ">=1 <2", false],
  ["1.0.0-a", "*", false],
  ["1.0.0-beta.2", "^1.0.0-beta.1", true],
  ["1.1.0-beta.2", "^1.0.0-beta.1", false],
  ["3.1.4", "1.x || >=2.5.0 || 5.0.0 - 7.2.3", true],
  ["2.0.1", "<=2", true],
  ["1.2.3", ">1.2", false],
  ["1.2.3", "> 1.2.2", true],
  ["1.2.9", "1.2 - 1.2", true],
  ["no version", "*", false],
  ["1.2.3", "no range", false],
];
for (const [version, range, expected] of RANGES) {
  test(`semver: ${version} in ${range}`, () => assert.equal(satisfies(version, range), expected));
}

test("semver: releases come after what was before them", () => {
  const versions = ["1.10.0", "1.9.0", "1.9.0-rc.10", "1.9.0-rc.2", "1.9.0-1"];
  assert.deepEqual(versions.toReversed().sort(order), versions.toReversed());
  assert.equal(order("1.0.0", "1.0.0+build"), 0);
});
