// Overlays of `pi.ui.custom`: where they are, what shows through, and whose turn the keyboard is.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { importRuntime } from "./arguments_bundle.mjs";
import { load } from "./packages_host.mjs";

const { Overlays } = await importRuntime("12_overlays.ts");
const tui = load("pi-tui");

const FAMILY = "👨‍👩‍👧";
const red = (text) => `\x1b[31m${text}\x1b[39m`;
const onBlue = (text) => `\x1b[44m${text}\x1b[49m`;

/** A component of these lines, and one that fills the width it is told. */
const box = (...lines) => ({ render: () => lines });
const filled = (height = 1) => ({
  render: (width) => Array.from({ length: height }, () => "#".repeat(width)),
});

function screen(columns = 10, rows = 5) {
  const room = { columns, rows };
  let changes = 0;
  const overlays = new Overlays(tui, room, () => changes++);
  return { room, overlays, changes: () => changes };
}

/** What is drawn with one overlay on dots. */
function drawn(options, component = filled(), { columns = 10, rows = 5 } = {}) {
  const { overlays } = screen(columns, rows);
  overlays.show(component, options);
  return overlays.compose(Array.from({ length: rows }, () => ".".repeat(columns)));
}

test("a handle tells where its overlay was drawn while it is shown", () => {
  const { overlays } = screen();
  const handle = overlays.show(filled(2), { width: 4, row: 1, col: 3 });
  assert.equal(handle.getBounds(), undefined);
  overlays.compose([]);
  assert.deepEqual(handle.getBounds(), { row: 1, col: 3, width: 4, height: 2 });
  handle.setHidden(true);
  assert.equal(handle.getBounds(), undefined);
});

describe("places", () => {
  const cases = [
    ["the middle, as wide as there is room", undefined, 2, "##########"],
    ["width", { width: 4 }, 2, "...####..."],
    ["a share of the width", { width: "50%" }, 2, "..#####..."],
    ["least width", { width: "10%", minWidth: 4 }, 2, "...####..."],
    ["no wider than there is room", { width: 99 }, 2, "##########"],
    ["top-left", { width: 2, anchor: "top-left" }, 0, "##........"],
    ["top-center", { width: 2, anchor: "top-center" }, 0, "....##...."],
    ["top-right", { width: 2, anchor: "top-right" }, 0, "........##"],
    ["left-center", { width: 2, anchor: "left-center" }, 2, "##........"],
    ["right-center", { width: 2, anchor: "right-center" }, 2, "........##"],
    ["bottom-left", { width: 2, anchor: "bottom-left" }, 4, "##........"],
    ["bottom-center", { width: 2, anchor: "bottom-center" }, 4, "....##...."],
    ["bottom-right", { width: 2, anchor: "bottom-right" }, 4, "........##"],
    ["an anchor that there is not", { width: 2, anchor: "moon" }, 2, "....##...."],
    ["offsets", { width: 2, offsetX: 2, offsetY: -1 }, 1, "......##.."],
    ["row and column", { width: 2, row: 1, col: 3 }, 1, "...##....."],
    ["shares of them", { width: 2, row: "100%", col: "50%" }, 4, "....##...."],
    ["an offset from them", { width: 2, row: 0, col: 0, offsetX: 1, offsetY: 3 }, 3, ".##......."],
    ["a margin", { width: 2, anchor: "bottom-right", margin: 1 }, 3, ".......##."],
    [
      "margins by side",
      { width: 2, anchor: "top-left", margin: { top: 2, left: 3 } },
      2,
      "...##.....",
    ],
    ["a margin takes of the width", { margin: { right: 4 } }, 2, "######...."],
    ["never out of the place", { width: 2, row: 99, col: -7 }, 4, "##........"],
    ["what is no number is left out", { width: Number.NaN, row: "x" }, 2, "##########"],
    ["a function says", () => ({ width: 2, row: 0, col: 0 }), 0, "##........"],
  ];
  for (const [name, options, row, line] of cases) {
    test(name, () => {
      const dots = Array.from({ length: 5 }, () => "..........");
      assert.deepEqual(drawn(options), dots.with(row, line));
    });
  }

  test("80 columns where there are more", () => {
    const [, , line] = drawn(undefined, filled(), { columns: 100 });
    assert.equal(line, ".".repeat(10) + "#".repeat(80) + ".".repeat(10));
  });

  test("what is too high is cut at its end", () => {
    const three = box("1", "2", "3");
    const at = { width: 1, col: 0 };
    const first = (options) => drawn({ ...at, ...options }, three).map((line) => line[0]);
    assert.deepEqual(first({}), [".", "1", "2", "3", "."]);
    assert.deepEqual(first({ maxHeight: 2 }), [".", "1", "2", ".", "."]);
    assert.deepEqual(first({ maxHeight: "40%" }), [".", "1", "2", ".", "."]);
    assert.deepEqual(first({ margin: 2 }), [".", ".", ".", ".", "."]);
    assert.deepEqual(drawn({ margin: 2, width: 1 }, three)[2], "....1.....");
  });

  test("over fewer lines there are empty ones, over too many it is at the end", () => {
    const { overlays } = screen();
    overlays.show(filled(), { width: 2, row: 2, col: 1 });
    assert.deepEqual(overlays.compose(["ab"]), ["ab", "", " ##"]);
    const many = Array.from({ length: 7 }, (_, at) => `${at}....`);
    const changed = many.with(4, "4##..");
    assert.deepEqual(overlays.compose(many), changed);
  });

  test("the size of the moment counts", () => {
    const { overlays, room } = screen();
    overlays.show(filled(), { width: "50%", anchor: "bottom-right" });
    assert.deepEqual(overlays.compose([]).at(-1), "     #####");
    room.columns = 4;
    room.rows = 2;
    assert.deepEqual(overlays.compose([]), ["", "  ##"]);
  });
});

describe("what shows through", () => {
  const over = (line, text, col, width) => {
    const { overlays } = screen(40, 1);
    overlays.show(box(text), { row: 0, col, width });
    return overlays.compose([line])[0];
  };
  const cases = [
    ["on both sides", ["abcdef", "XY", 2, 2], "abXYef"],
    ["what is too short is filled up", ["abcdef", "X", 2, 3], "abX  f"],
    ["what is too wide is cut", ["abcdef", "WXYZ", 2, 2], "abWXef"],
    ["beyond the end of the line", ["ab", "XY", 4, 2], "ab  XY"],
    ["wide characters that are whole", ["日本語文", "XY", 2, 2], "日XY語文"],
    ["wide characters that an edge cuts through", ["日本語文", "XY", 1, 2], " XY 語文"],
    ["a wide character that does not fit", ["abcdef", "日本", 1, 3], "a日 ef"],
    ["an emoji under an edge", [`${FAMILY}${FAMILY}ab`, "X", 1, 1], ` X${FAMILY}ab`],
    ["an emoji on top", ["abcdef", FAMILY, 2, 2], `ab${FAMILY}ef`],
    [
      "styles end before it and go on behind it",
      [red("abcdef"), "XY", 2, 2],
      `${red("ab")}XY${red("ef")}`,
    ],
    ["its own do not run out of it", ["abcdef", "\x1b[44mXY", 2, 2], `ab${onBlue("XY")}ef`],
    [
      "links, too",
      ["\x1b]8;;u\x07abcdef\x1b]8;;\x07", "XY", 2, 2],
      "\x1b]8;;u\x07ab\x1b]8;;\x1b\\XY\x1b]8;;u\x07ef\x1b]8;;\x1b\\",
    ],
  ];
  for (const [name, [line, text, col, width], expected] of cases) {
    test(name, () => {
      const found = over(line, text, col, width);
      assert.equal(found.replaceAll("\x1b]8;;\x07", ""), expected);
      const seen = Math.max(tui.visibleWidth(line), col + width);
      assert.equal(tui.visibleWidth(found), seen);
    });
  }

  test("the last one is on top", () => {
    const { overlays } = screen(6, 1);
    overlays.show(box("aaaa"), { col: 0, width: 4 });
    const second = overlays.show(box("bb"), { col: 1, width: 2 });
    assert.deepEqual(overlays.compose(["......"]), ["abba.."]);
    const first = overlays.show(box("cc"), { col: 2, width: 2 });
    second.focus();
    assert.deepEqual(overlays.compose(["......"]), ["abbc.."]);
    first.hide();
    assert.deepEqual(overlays.compose(["......"]), ["abba.."]);
  });
});

describe("the keyboard", () => {
  const field = (name) => ({ name, focused: false, render: () => [name] });
  const holders = (...fields) => fields.filter(({ focused }) => focused).map(({ name }) => name);

  test("goes to an overlay and back to whoever had it", () => {
    const { overlays, changes } = screen();
    const [page, input, list, part] = ["page", "input", "list", "part"].map(field);
    const all = [page, input, list, part];
    overlays.settle(page);
    assert.deepEqual(holders(...all), ["page"]);
    overlays.setFocus(input);
    assert.deepEqual(holders(...all), ["input"]);
    const handle = overlays.show(list);
    assert.deepEqual(holders(...all), ["list"]);
    overlays.setFocus(part);
    assert.equal(overlays.focused, part);
    const before = changes();
    handle.hide();
    assert.deepEqual(holders(...all), ["input"]);
    assert.equal(overlays.focused, input);
    assert.equal(changes(), before + 1);
    handle.setHidden(false);
    handle.hide();
    assert.deepEqual(holders(...all), ["input"]);
  });

  test("goes back while an overlay is hidden", () => {
    const { overlays } = screen();
    const [page, one, two] = ["page", "one", "two"].map(field);
    overlays.settle(page);
    const first = overlays.show(one);
    const second = overlays.show(two);
    assert.equal(overlays.hasVisible(), true);
    second.setHidden(true);
    assert.deepEqual([first.isHidden(), second.isHidden()], [false, true]);
    assert.deepEqual(holders(page, one, two), ["one"]);
    first.setHidden(true);
    assert.deepEqual(holders(page, one, two), ["page"]);
    assert.equal(overlays.hasVisible(), false);
    assert.deepEqual(overlays.compose(["x"]), ["x"]);
    second.setHidden(false);
    assert.deepEqual(holders(page, one, two), ["two"]);
    overlays.hideTop();
    assert.deepEqual(holders(page, one, two), ["page"]);
    overlays.hideTop();
    overlays.hideTop();
    first.setHidden(false);
    assert.equal(overlays.hasVisible(), false);
  });

  test("is not taken by what does not want it, and is given and taken back", () => {
    const { overlays } = screen();
    const [page, hint] = ["page", "hint"].map(field);
    overlays.settle(page);
    const handle = overlays.show(hint, { nonCapturing: true });
    assert.deepEqual([holders(page, hint), handle.isFocused()], [["page"], false]);
    handle.focus();
    assert.deepEqual([holders(page, hint), handle.isFocused()], [["hint"], true]);
    handle.unfocus();
    assert.deepEqual([holders(page, hint), handle.isFocused()], [["page"], false]);
  });

  test("is with who can be seen in that size", () => {
    const { overlays, room } = screen();
    const [page, wide] = ["page", "wide"].map(field);
    overlays.settle(page);
    overlays.show(wide, { visible: (columns, rows) => columns >= 20 && rows === 5 });
    assert.deepEqual(holders(page, wide), ["page"]);
    room.columns = 20;
    overlays.compose([]);
    assert.deepEqual(holders(page, wide), ["wide"]);
  });

  test("is where a component that is an overlay itself has put it", () => {
    const { overlays } = screen();
    const [page, input] = ["page", "input"].map(field);
    overlays.setFocus(input);
    const handle = overlays.settleAbove(page, { width: 4, row: 0, col: 0 });
    assert.deepEqual(holders(page, input), ["input"]);
    assert.deepEqual(overlays.compose([]), ["page"]);
    handle.setHidden(true);
    assert.equal(overlays.focused, undefined);
    assert.deepEqual(overlays.compose([]), []);
    handle.setHidden(false);
    assert.equal(overlays.focused, input);
  });
});

test("what is no component is refused", () => {
  const { overlays } = screen();
  for (const wrong of [undefined, null, "text", {}]) {
    assert.throws(() => overlays.show(wrong), /has no `render`/);
  }
  assert.equal(overlays.hasVisible(), false);
});
