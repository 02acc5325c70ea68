// The components of `pi-tui`, line by line.

import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { load } from "./packages_host.mjs";

const tui = load("pi-tui");
const { visibleWidth, wrapTextWithAnsi, truncateToWidth } = tui;

const SCREEN = {
  colors: "256",
  isLight: false,
  showsImages: false,
  hyperlinks: false,
  cell: [9, 18],
};
const FAMILY = "👨‍👩‍👧";
const red = (text) => `\x1b[31m${text}\x1b[39m`;
const onBlue = (text) => `\x1b[44m${text}\x1b[49m`;
const tag = (name) => (text) => `<${name}>${text}</${name}>`;

describe("widths", () => {
  const cases = [
    ["", 0],
    ["abc", 3],
    ["日本語", 6],
    ["ｱ", 1],
    ["e\u0301", 1],
    [FAMILY, 2],
    ["👍🏽", 2],
    ["🇩🇪", 2],
    ["❤️", 2],
    ["❤", 1],
    ["\u200b\u200d", 0],
    ["a\tb", 5],
    [red("日a"), 3],
    ["\x1b]8;;https://x.example\x07link\x1b]8;;\x07", 4],
    ["\x1b_data\x1b\\x", 1],
    ["\x1b[", 0],
  ];
  for (const [text, width] of cases) {
    test(JSON.stringify(text), () => assert.equal(visibleWidth(text), width));
  }
});

describe("wrapping", () => {
  const cases = [
    ["breaks at spaces", ["the quick brown fox", 10], ["the quick", "brown fox"]],
    ["keeps indentation", ["  a b", 10], ["  a b"]],
    ["splits a word that is too long", ["abcdefgh ij", 3], ["abc", "def", "gh", "ij"]],
    ["keeps empty lines", ["a\n\nb", 5], ["a", "", "b"]],
    ["never splits a wide character", ["日本語", 5], ["日本", "語"]],
    ["never splits an emoji", [`${FAMILY}${FAMILY}`, 3], [FAMILY, FAMILY]],
    ["marks what cannot be drawn", ["日a", 1], ["…", "a"]],
    ["takes a width of 0 as 1", ["ab", 0], ["a", "b"]],
    ["carries a style over", [red("ab cd"), 2], ["\x1b[31mab\x1b[39m", "\x1b[31mcd\x1b[39m"]],
    [
      "carries styles over an author's line break",
      ["\x1b[1;38;5;9ma\nb\x1b[0m c", 9],
      ["\x1b[1;38;5;9ma\x1b[22;39m", "\x1b[1;38;5;9mb\x1b[0m c"],
    ],
    [
      "carries a link over",
      ["\x1b]8;;u\x07ab cd\x1b]8;;\x07", 2],
      ["\x1b]8;;u\x07ab\x1b]8;;\x1b\\", "\x1b]8;;u\x07cd\x1b]8;;\x07"],
    ],
  ];
  for (const [name, [text, width], lines] of cases) {
    test(name, () => assert.deepEqual(wrapTextWithAnsi(text, width), lines));
  }
});

describe("truncating", () => {
  const cases = [
    [["abc", 3], "abc"],
    [["abcd", 3], "ab…"],
    [["abcd", 3, "..."], "..."],
    [["abcd", 2, "..."], "ab"],
    [["abcd", 0], ""],
    [["日本語", 4], "日…"],
    [["日本語", 4, "…", true], "日… "],
    [["ab", 4, "…", true], "ab  "],
    [[red("abcd"), 3], `${red("ab")}…`],
  ];
  for (const [args, expected] of cases) {
    test(JSON.stringify(args), () => assert.equal(truncateToWidth(...args), expected));
  }
});

describe("Text", () => {
  test("has margins of one on all sides unless told otherwise", () => {
    assert.deepEqual(new tui.Text("hi").render(6), ["      ", " hi   ", "      "]);
  });

  test("fills its lines up to the width", () => {
    assert.deepEqual(new tui.Text("one two", 0, 0).render(4), ["one ", "two "]);
  });

  test("draws a tab as three spaces", () => {
    assert.deepEqual(new tui.Text("a\tb", 0, 0).render(6), ["a   b "]);
  });

  test("takes no line when it is blank", () => {
    for (const text of ["", "  ", "\n\t"]) assert.deepEqual(new tui.Text(text).render(10), []);
  });

  test("keeps the background behind a reset", () => {
    const [line] = new tui.Text("\x1b[1ma\x1b[0mb", 0, 0, onBlue).render(3);
    assert.equal(line, "\x1b[44m\x1b[1ma\x1b[0m\x1b[44mb \x1b[49m");
  });

  test("is never wider than it may be", () => {
    const text = new tui.Text(`日本 ${FAMILY} ${red("abc def")} x\ty`, 2, 0, onBlue);
    assert.deepEqual(text.render(0), []);
    for (let width = 1; width < 20; width++) {
      const lines = text.render(width);
      assert.ok(lines.length > 0);
      for (const line of lines) assert.equal(visibleWidth(line), width, JSON.stringify(line));
    }
  });

  test("can be given another text and background", () => {
    const text = new tui.Text("a", 0, 0);
    text.setText("b");
    text.setCustomBgFn(onBlue);
    assert.deepEqual(text.render(2), [onBlue("b ")]);
  });
});

describe("containers", () => {
  test("put children below each other", () => {
    const container = new tui.Container();
    const middle = new tui.Spacer(2);
    container.addChild(new tui.Text("a", 0, 0));
    container.addChild(middle);
    container.addChild(new tui.TruncatedText("bcdefg\nsecond", 1));
    assert.deepEqual(container.render(5), ["a    ", "", "", " bc… "]);
    container.removeChild(middle);
    assert.deepEqual(container.render(5), ["a    ", " bc… "]);
    container.clear();
    assert.deepEqual(container.render(5), []);
  });

  test("a box paints its margins and its children", () => {
    const box = new tui.Box(1, 1, onBlue);
    assert.deepEqual(box.render(5), []);
    box.addChild(new tui.Text("ab", 0, 0));
    assert.deepEqual(box.render(5), ["     ", " ab  ", "     "].map(onBlue));
    box.setBgFn(red);
    box.setPaddingX(2);
    box.setPaddingY(0);
    assert.deepEqual(box.render(6), [red("  ab  ")]);
    for (let width = 1; width < 8; width++) {
      for (const line of box.render(width)) assert.equal(visibleWidth(line), width);
    }
  });

  test("a box has an outline where there is room", () => {
    const corners = { topLeft: "╭", topRight: "╮", bottomLeft: "╰", bottomRight: "╯" };
    const box = new tui.Box(1, 0, undefined, {
      chars: { ...corners, horizontal: "─", vertical: "│" },
    });
    box.addChild({ render: () => ["ab"] });
    assert.deepEqual(box.render(6), ["╭────╮", "│ ab │", "╰────╯"]);
    assert.deepEqual(box.render(4), [" ab "]);
  });
});

describe("Markdown", () => {
  const names = [
    "heading",
    "link",
    "linkUrl",
    "code",
    "codeBlock",
    "codeBlockBorder",
    "quote",
    "quoteBorder",
  ];
  const more = ["hr", "listBullet", "bold", "italic", "strikethrough", "underline"];
  const plain = Object.fromEntries([...names, ...more].map((name) => [name, (text) => text]));
  const tagged = {
    ...plain,
    bold: tag("b"),
    italic: tag("i"),
    code: tag("c"),
    link: tag("l"),
    linkUrl: tag("u"),
  };
  const draw = (text, width = 40, theme = plain, style = undefined) =>
    new tui.Markdown(text, 0, 0, theme, style).render(width).map((line) => line.trimEnd());

  test("separates blocks with one empty line", () => {
    assert.deepEqual(draw("# One\n\n\n## Two\n### Three\ntext\nmore\n\n---\n", 10), [
      "One",
      "",
      "Two",
      "",
      "### Three",
      "",
      "text",
      "more",
      "",
      "──────────",
    ]);
  });

  test("draws lists, nested and numbered, with tasks", () => {
    assert.deepEqual(
      draw("- one\n  - two\n- three four five\n\n3. a\n4. b\n\n- [x] done\n- [ ] open", 12),
      [
        "- one",
        "    - two",
        "- three four",
        "  five",
        "",
        "3. a",
        "4. b",
        "",
        "- [x] done",
        "- [ ] open",
      ],
    );
  });

  test("styles what is inside of a line", () => {
    assert.deepEqual(
      draw("a **b *c*** `d` [e](https://f.example) <https://g.example>", 200, tagged),
      ["a <b>b <i>c</i></b> <c>d</c> <l>e</l><u> (https://f.example)</u> <l>https://g.example</l>"],
    );
  });

  test("shows entities and HTML as they are written, as pi does", () => {
    assert.deepEqual(draw("a &amp; b <br> `&lt;`"), ["a &amp; b <br> &lt;"]);
  });

  test("puts code into fences, highlighted if the theme can", () => {
    assert.deepEqual(draw("```ts\nlet a\n\nb\n```"), ["```ts", "  let a", "", "  b", "```"]);
    const highlightCode = (code, language) => code.split("\n").map(tag(language));
    assert.deepEqual(draw("```ts\na\n```", 40, { ...plain, highlightCode }), [
      "```ts",
      "  <ts>a</ts>",
      "```",
    ]);
  });

  test("puts a bar before quotes", () => {
    assert.deepEqual(draw("> one two\n> three\n\nx", 6), [
      "│ one",
      "│ two",
      "│ thre",
      "│ e",
      "",
      "x",
    ]);
  });

  test("draws tables, and makes the widest column give way", () => {
    const table = draw("| a | b |\n|---|---|\n| one two | 3 |", 12);
    assert.deepEqual(table.map(tui.stripTerminalSequences), [
      "┌──────┬───┐",
      "│ a    │ b │",
      "├──────┼───┤",
      "│ one  │ 3 │",
      "│ two  │   │",
      "└──────┴───┘",
    ]);
    assert.deepEqual(draw("| a |\n|---|\n| b |", 4), ["| a", "|", "|---", "|", "| b", "|"]);
  });

  test("styles plain text as it was told", () => {
    assert.deepEqual(draw("a **b**", 40, tagged, { color: tag("x"), italic: true }), [
      "<i><x>a </x></i><b><i><x>b</x></i></b>",
    ]);
  });

  test("is never wider than it may be", () => {
    const text =
      "# 日本\n\n- a\n  1. bb `cc`\n\n> q **r**\n\n```\ncode code\n```\n\n| x | y |\n|--|--|\n| 1 | 2 |\n\n---";
    const markdown = new tui.Markdown(text, 1, 1, plain);
    for (let width = 1; width < 30; width++) {
      for (const line of markdown.render(width))
        assert.equal(visibleWidth(line), width, `${width}: ${line}`);
    }
  });

  test("measures what a style has made of a text", () => {
    const wide = (text) => text.replaceAll("e", "ｅ");
    const long = (text) => text.replaceAll("&", "and");
    const theme = { ...plain, bold: wide, code: wide, link: long };
    const text = "eee **eee** `eee` eee **eee** [&&&&](e.org)";
    assert.deepEqual(draw(text, 12, theme), [
      "eee ｅｅｅ",
      "ｅｅｅ eee",
      "ｅｅｅ",
      "andandandand",
      "(e.org)",
    ]);
  });

  test("closes at the end of a line what a style leaves on", () => {
    const leaky = { ...plain, bold: (text) => `\x1b[1m${text}` };
    assert.deepEqual(draw("**a** b\nc", 40, leaky), ["\x1b[1ma b\x1b[22m", "\x1b[1mc\x1b[22m"]);
  });

  test("draws formulas, also after a document without any", () => {
    assert.deepEqual(draw("no formula"), ["no formula"]);
    assert.deepEqual(draw("so $x^2 \\leq 1$ holds"), ["so x² ≤ 1 holds"]);
  });

  test("takes marks as text once too many have no end, in this document only", () => {
    const prototypes = "char *name, const void *data; ".repeat(5000);
    assert.equal(draw(`${prototypes}\n\n**a**`, 80, tagged).at(-1), "**a**");
    assert.deepEqual(draw("**a**", 80, tagged), ["<b>a</b>"]);
    assert.equal(tui.renderInlineMarkdown("**a**", tagged), "<b>a</b>");
    const few = "char *name, const void *data; ".repeat(50);
    assert.equal(draw(`${few}\n\n**a**`, 80, tagged).at(-1), "<b>a</b>");
  });

  test("links lead where the theme says", () => {
    const show = tui.theme[Symbol.for("haft.screen")];
    const theme = { ...plain, resolveLink: (href) => (href === "a" ? "file:///a" : undefined) };
    const link = (text, target) => `\x1b]8;;${target}\x1b\\${text}\x1b]8;;\x1b\\`;
    show({ ...SCREEN, hyperlinks: true });
    const drawn = draw("[x](a) [y](b)", 40, theme);
    show(SCREEN);
    assert.deepEqual(drawn, [`${link("x", "file:///a")} ${link("y", "b")}`]);
  });
});

describe("SelectList", () => {
  const theme = {
    selectedPrefix: tag("p"),
    selectedText: tag("s"),
    description: tag("d"),
    scrollInfo: tag("i"),
    noMatch: tag("n"),
  };
  const items = ["alpha", "beta", "gamma"].map((value) => ({
    value,
    label: value,
    description: `about ${value}`,
  }));

  test("scrolls to keep the selected item in view", () => {
    const list = new tui.SelectList(items, 2, theme);
    assert.deepEqual(list.render(20), ["<s>→ alpha</s>", "  beta", "<i>  (1/3)</i>"]);
    list.handleInput("\x1b[A");
    assert.deepEqual(list.render(20), ["  beta", "<s>→ gamma</s>", "<i>  (3/3)</i>"]);
  });

  test("shows descriptions where there is room", () => {
    const [first, second] = new tui.SelectList(items, 5, theme).render(60);
    assert.equal(first, `<s>→ alpha${" ".repeat(27)}about alpha</s>`);
    assert.equal(second, `  beta<d>${" ".repeat(28)}about beta</d>`);
  });

  test("is never wider than it may be", () => {
    const list = new tui.SelectList(
      items,
      2,
      Object.fromEntries(Object.keys(theme).map((key) => [key, red])),
    );
    for (let width = 3; width < 60; width++) {
      for (const line of list.render(width))
        assert.ok(visibleWidth(line) <= width, `${width}: ${line}`);
    }
  });

  test("tells what was chosen", () => {
    const seen = [];
    const list = new tui.SelectList(items, 5, theme);
    list.onSelect = (item) => seen.push(item.value);
    list.onCancel = () => seen.push("cancel");
    for (const key of ["\x1b[B", "\r", "\x1b"]) list.handleInput(key);
    list.setFilter("GAM");
    list.handleInput("\r");
    list.setFilter("zzz");
    list.handleInput("\r");
    assert.deepEqual(seen, ["beta", "cancel", "gamma"]);
    assert.deepEqual(list.render(30), ["<n>  No matching commands</n>"]);
    assert.equal(list.getSelectedItem(), null);
  });
});

describe("Input", () => {
  const type = (...keys) => {
    const input = new tui.Input();
    for (const key of keys) input.handleInput(key);
    return input;
  };

  test("edits a line", () => {
    assert.equal(type("a", "b", "\x1b[D", "X").getValue(), "aXb");
    assert.equal(type("héllo wörld", "\x17").getValue(), "héllo ");
    assert.equal(type(FAMILY, "b", "\x1b[D", "\x7f").getValue(), "b");
    assert.equal(type("abc", "\x01", "\x0b").getValue(), "");
    assert.equal(type("\x1b[200~two\nlines\x1b[201~").getValue(), "twolines");
    assert.equal(type("a", "\x1b[15~").getValue(), "a");
  });

  test("shows where the cursor is", () => {
    assert.deepEqual(type("ab", "\x1b[D").render(8), ["> a\x1b[7mb\x1b[27m    "]);
    assert.deepEqual(type("ab").render(8), ["> ab\x1b[7m \x1b[27m   "]);
    for (let width = 1; width < 12; width++) {
      for (const line of type("日本語テキスト").render(width))
        assert.ok(visibleWidth(line) <= width);
    }
  });

  test("submits and gives up", () => {
    const seen = [];
    const input = type("x");
    input.onSubmit = (value) => seen.push(value);
    input.onEscape = () => seen.push("escape");
    input.handleInput("\r");
    input.handleInput("\x1b");
    assert.deepEqual(seen, ["x", "escape"]);
  });
});

describe("Editor", () => {
  const plain = (text) => text;
  const type = (...keys) => {
    const editor = new tui.Editor({ requestRender() {} }, { borderColor: plain });
    for (const key of keys) editor.handleInput(key);
    return editor;
  };
  const ENTER = "\r";
  const NEW_LINE = "\x1b\r";

  test("edits several lines", () => {
    assert.equal(type("one", NEW_LINE, "two").getText(), "one\ntwo");
    assert.equal(type("ab", NEW_LINE, "cd", "\x1b[A", "\x05", "!").getText(), "ab!\ncd");
    assert.equal(type("ab", NEW_LINE, "\x7f", "\x7f").getText(), "a");
    assert.equal(type("a b c", "\x17", "\x17").getText(), "a ");
    assert.equal(type("abc", "\x01", "\x0b").getText(), "");
    assert.equal(type("abc", "\x15", "\x1f").getText(), "abc");
    assert.deepEqual(type("日本", "\x1b[D").getCursor(), { line: 0, col: 1 });
    assert.equal(
      type(`\x1b[200~two\nlines\tand\x1b[31m\x1b[201~`).getText(),
      "two\nlines    and[31m",
    );
  });

  test("submits, and remembers what was submitted", () => {
    const seen = [];
    const editor = type("first");
    editor.onSubmit = (text) => seen.push(text);
    editor.onChange = () => {};
    editor.handleInput(ENTER);
    editor.addToHistory("first");
    // The first goes to the start of the line.
    for (const key of ["draft", "\x1b[A", "\x1b[A"]) editor.handleInput(key);
    assert.equal(editor.getText(), "first");
    editor.handleInput("\x1b[B");
    assert.equal(editor.getText(), "draft");
    for (const key of ["\x05", "\\", ENTER, "more", ENTER]) editor.handleInput(key);
    assert.deepEqual(seen, ["first", "draft\nmore"]);
    editor.disableSubmit = true;
    for (const key of ["a", ENTER, "b"]) editor.handleInput(key);
    assert.equal(editor.getText(), "ab");
  });

  test("takes omp's arguments, too", () => {
    const editor = new tui.Editor({ borderColor: red }, { paddingX: 1 });
    editor.setText("x");
    assert.deepEqual(editor.render(6), [red("──────"), " x\x1b[7m \x1b[0m   ", red("──────")]);
  });

  test("is never wider than it may be", () => {
    const editor = type(`日本 ${FAMILY} and a long line`, NEW_LINE, "second");
    for (let width = 1; width < 20; width++) {
      for (const line of editor.render(width)) {
        assert.ok(visibleWidth(line) <= Math.max(4, width), `${width}: ${JSON.stringify(line)}`);
      }
    }
  });
});

describe("Loader", () => {
  test("shows the frame that is due, and no spinner once it has stopped", () => {
    const loader = new tui.Loader({}, tag("s"), tag("m"), "Working");
    assert.deepEqual(loader.render(30), ["", ` <s>⠋</s> <m>Working</m>${" ".repeat(6)}`]);
    loader.setMessage("Nearly");
    loader.stop();
    assert.equal(loader.render(30)[1].trim(), "<m>Nearly</m>");
    loader.start();
    loader.setIndicator({ frames: ["*"] });
    assert.equal(loader.render(30)[1].trim(), "<s>*</s> <m>Nearly</m>");
    loader.dispose();
  });

  test("can be cancelled", () => {
    const loader = new tui.CancellableLoader({}, (text) => text);
    let told = 0;
    loader.onAbort = () => told++;
    loader.handleInput("x");
    assert.equal(loader.aborted, false);
    loader.handleInput("\x1b");
    assert.deepEqual([loader.aborted, loader.signal.aborted, told], [true, true, 1]);
  });
});

describe("SettingsList", () => {
  const theme = {
    label: (text, selected) => (selected ? `<${text}>` : text),
    value: (text) => text,
    description: (text) => text,
    cursor: "> ",
    hint: (text) => text,
  };
  const items = () => [
    {
      id: "a",
      label: "Alpha",
      currentValue: "on",
      values: ["on", "off"],
      description: "The first",
    },
    {
      id: "b",
      label: "Beta",
      currentValue: "x",
      submenu: (_value, done) => ({ render: () => ["menu"], handleInput: done }),
    },
  ];

  test("changes values and opens menus", () => {
    const seen = [];
    const list = new tui.SettingsList(
      items(),
      5,
      theme,
      (...change) => seen.push(change),
      () => seen.push("cancel"),
    );
    assert.deepEqual(
      list.render(30).slice(0, 4),
      ["> <Alpha>  on", "  Beta   x", "", "  The first"].map((line) => line),
    );
    for (const key of ["\r", " ", "\x1b[B", "\r"]) list.handleInput(key);
    assert.deepEqual(list.render(30), ["menu"]);
    list.handleInput("chosen");
    list.handleInput("\x1b");
    assert.deepEqual(seen, [["a", "off"], ["a", "on"], ["b", "chosen"], "cancel"]);
  });

  test("can be searched, and fits", () => {
    const list = new tui.SettingsList(
      items(),
      5,
      theme,
      () => {},
      () => {},
      { enableSearch: true },
    );
    for (const key of ["b", "e"]) list.handleInput(key);
    assert.ok(!list.render(30).some((line) => line.includes("Alpha")));
    for (let width = 1; width < 30; width++) {
      for (const line of list.render(width))
        assert.ok(visibleWidth(line) <= width, `${width}: ${line}`);
    }
  });
});

describe("what is found by a few letters", () => {
  test("letters in order match, beginnings and neighbours first", () => {
    assert.equal(tui.fuzzyMatch("abc", "xaxbxc").matches, true);
    assert.equal(tui.fuzzyMatch("abc", "cba").matches, false);
    const names = ["src/main.rs", "some_readme", "readme.md"];
    assert.deepEqual(
      tui.fuzzyFilter(names, "read", (name) => name),
      ["readme.md", "some_readme"],
    );
    assert.deepEqual(
      tui.fuzzyFilter(names, ".md read", (name) => name),
      ["readme.md"],
    );
    assert.equal(
      tui.fuzzyFilter(names, " ", (name) => name),
      names,
    );
  });
});

describe("keybindings", () => {
  test("are the usual ones until somebody binds others", () => {
    const keys = tui.getKeybindings();
    assert.equal(keys.matches("\r", "tui.select.confirm"), true);
    const own = new tui.KeybindingsManager(tui.TUI_KEYBINDINGS, { "tui.select.confirm": "ctrl+s" });
    assert.equal(own.matches("\r", "tui.select.confirm"), false);
    assert.deepEqual(own.getKeys("tui.select.confirm"), ["ctrl+s"]);
    assert.deepEqual(own.getKeys("tui.select.cancel"), ["escape", "ctrl+c"]);
  });
});

describe("columns of a line", () => {
  test("are cut out with their styles", () => {
    assert.equal(tui.sliceByColumn("abcdef", 2, 3), "cde");
    assert.equal(tui.sliceByColumn(red("abcdef"), 2, 3), red("cde"));
    assert.deepEqual(tui.sliceWithWidth("日本語", 2, 3, true), { text: "本", width: 2 });
    assert.deepEqual(tui.sliceWithWidth("日本語", 2, 3), { text: "本語", width: 4 });
  });
});

describe("Image", () => {
  const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAIAAAA2iEnWAAAAAElFTkSuQmCC";
  const GIF = "R0lGODlhAQACAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAIAAAIBRAA7";
  const JPEG = btoa("\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08\x00\x05\x00\x07\x01");

  test("says what it is", () => {
    const image = new tui.Image(PNG, "image/png", { fallbackColor: red }, { filename: "a.png" });
    assert.deepEqual(image.render(60), [red("[Image: a.png [image/png] 2x3]")]);
    assert.deepEqual(image.render(9), [`${red("[Image: ")}…`]);
  });

  test("is a block of lines where the screen shows pictures, with the host's mark in the last", () => {
    const show = tui.theme[Symbol.for("haft.screen")];
    show({ ...SCREEN, showsImages: true });
    const lines = new tui.Image(PNG, "image/png", {}, { maxWidthCells: 4 }).render(20);
    show(SCREEN);
    const mark = `\x1b_haft:image;3;2;${PNG}\x1b\\`;
    assert.deepEqual(lines, ["", `\x1b[1A${mark}`]);
  });

  test("knows the size of common formats", () => {
    const size = (data, type) => tui.getImageDimensions(data, type);
    assert.deepEqual(size(PNG, "image/png"), { widthPx: 2, heightPx: 3 });
    assert.deepEqual(size(GIF, "image/gif"), { widthPx: 1, heightPx: 2 });
    assert.deepEqual(size(JPEG, "image/jpeg"), { widthPx: 7, heightPx: 5 });
    assert.equal(size("%%%", "image/png"), null);
    assert.equal(size(GIF, "image/png"), null);
  });
});

describe("keys", () => {
  const cases = [
    ["\r", "enter"],
    ["\x1b", "escape"],
    ["\x1b[A", "up"],
    ["\x1bOA", "up"],
    ["\x1b[1;5C", "ctrl+right"],
    ["\x1b[3~", "delete"],
    ["\x1b[3;2~", "shift+delete"],
    ["\x1b[Z", "shift+tab"],
    ["\x03", "ctrl+c"],
    ["\x1bb", "alt+left"],
    ["\x1b\x7f", "alt+backspace"],
    ["\b", "backspace"],
    ["\x1b[99;5u", "ctrl+c"],
    ["\x1b[13;2u", "shift+enter"],
    ["A", "A"],
    ["é", undefined],
    ["two", undefined],
  ];
  for (const [data, name] of cases) {
    test(JSON.stringify(data), () => assert.equal(tui.parseKey(data), name));
  }

  test("are matched whatever the order of modifiers", () => {
    const { Key, matchesKey } = tui;
    assert.ok(matchesKey("\x1b[99;6u", "shift+ctrl+c"));
    assert.ok(matchesKey("\x1b[99;6u", Key.ctrlShift("c")));
    assert.ok(matchesKey("\x1b", Key.esc));
    assert.ok(!matchesKey("c", Key.ctrl("c")));
    assert.ok(tui.isKeyRelease("\x1b[99;1:3u"));
    assert.ok(!tui.isKeyRelease("\x1b[99;1u"));
  });
});
