// What tools import from `pi-ai`, `pi-coding-agent` and `@sinclair/typebox` beside components.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";

import { load } from "./packages_host.mjs";

const pi = load("pi-coding-agent");
const { StringEnum, Type } = load("pi-ai");

describe("StringEnum", () => {
  test("is a string with a list of values, without anyOf", () => {
    const schema = StringEnum(["a", "b"], { description: "which", default: "a" });
    assert.deepEqual(JSON.parse(JSON.stringify(schema)), {
      type: "string",
      enum: ["a", "b"],
      description: "which",
      default: "a",
    });
    assert.deepEqual(JSON.parse(JSON.stringify(StringEnum(["x"]))), {
      type: "string",
      enum: ["x"],
    });
  });

  test("is a property like any other of TypeBox", () => {
    const { Value } = load("typebox-tools-value");
    const schema = Type.Object({
      a: Type.Optional(StringEnum(["x"])),
      b: Type.Nullable(Type.String()),
    });
    assert.deepEqual(schema.required, ["b"]);
    assert.ok(Value.Check(Type.Object({ b: Type.Nullable(Type.String()) }), { b: null }));
    assert.deepEqual(JSON.parse(JSON.stringify(schema.properties.b)), {
      anyOf: [{ type: "string" }, { type: "null" }],
    });
  });

  test("is the same wherever it comes from", () => {
    for (const owner of [pi, load("typebox"), load("typebox").Type])
      assert.equal(owner.StringEnum, StringEnum);
    assert.equal(pi.Type, load("typebox").Type);
    assert.equal(load("typebox").default.Type, Type);
  });
});

test("Type has the builders that the injected TypeBox had", () => {
  const builders = `String Number Integer Boolean Null Any Unknown Never Literal Union Intersect Enum Array Tuple
    Object Record Optional Nullable Readonly Partial Required Pick Omit Composite Unsafe Ref Recursive KeyOf`;
  for (const name of builders.split(/\s+/)) assert.equal(typeof Type[name], "function", name);
});

describe("truncating output", () => {
  const lines = (count) =>
    Array.from({ length: count }, (_, index) => `line ${index + 1}`).join("\n");

  test("leaves short output alone", () => {
    const result = pi.truncateHead("a\nb\n");
    assert.deepEqual(
      [result.content, result.truncated, result.truncatedBy],
      ["a\nb\n", false, null],
    );
    assert.deepEqual([result.totalLines, result.outputLines, result.totalBytes], [3, 3, 4]);
    assert.equal(pi.truncateTail("").content, "");
  });

  test("keeps the first or the last lines", () => {
    const head = pi.truncateHead(lines(10), { maxLines: 2 });
    assert.deepEqual(
      [head.content, head.truncatedBy, head.totalLines],
      ["line 1\nline 2", "lines", 10],
    );
    const tail = pi.truncateTail(lines(10), { maxLines: 2 });
    assert.deepEqual(
      [tail.content, tail.truncatedBy, tail.outputLines],
      ["line 9\nline 10", "lines", 2],
    );
  });

  test("counts bytes, newlines included, and keeps whole lines", () => {
    assert.equal(pi.truncateHead("aaaa\nbbbb", { maxBytes: 9 }).truncated, false);
    assert.equal(pi.truncateHead("aaaa\nbbbb", { maxBytes: 8 }).content, "aaaa");
    assert.equal(pi.truncateHead("ééé", { maxBytes: 6 }).truncated, false);
  });

  test("says when the first line alone is too long", () => {
    const result = pi.truncateHead("aaaaaa\nb", { maxBytes: 3 });
    assert.deepEqual(
      [result.content, result.firstLineExceedsLimit, result.outputLines],
      ["", true, 0],
    );
  });

  test("keeps the end of a last line that is too long, without half characters", () => {
    const result = pi.truncateTail("x\nabcé", { maxBytes: 3 });
    assert.deepEqual([result.content, result.lastLinePartial], ["cé", true]);
    assert.equal(pi.truncateTail("aé", { maxBytes: 1 }).content, "");
  });

  test("cuts single lines", () => {
    assert.deepEqual(pi.truncateLine("abc", 3), { text: "abc", wasTruncated: false });
    assert.deepEqual(pi.truncateLine("abcd", 3), {
      text: "abc... [truncated]",
      wasTruncated: true,
    });
    assert.equal(pi.truncateLine("a😀", 2).text, "a... [truncated]");
  });

  test("writes sizes", () => {
    assert.deepEqual([0, 1023, 1536, 5 << 20].map(pi.formatSize), [
      "0B",
      "1023B",
      "1.5KB",
      "5.0MB",
    ]);
    assert.deepEqual([pi.DEFAULT_MAX_LINES, pi.DEFAULT_MAX_BYTES], [2000, 51200]);
  });
});

describe("theme", () => {
  test("styles end with their own code", () => {
    assert.equal(pi.theme.fg("success", "ok"), "\x1b[38;5;71mok\x1b[39m");
    assert.equal(pi.theme.bold("b"), "\x1b[1mb\x1b[22m");
    assert.equal(
      pi.keyHint("expandTools", "to expand"),
      "\x1b[38;5;242mctrl+o\x1b[39m\x1b[38;5;244m to expand\x1b[39m",
    );
  });

  test("a colour that does not exist throws", () => {
    assert.throws(() => pi.theme.fg("x", "t"), { message: "Unknown theme color: x" });
    assert.throws(() => pi.theme.bg("x", "t"), { message: "Unknown theme background color: x" });
  });

  test("draws Markdown with every style it needs", () => {
    const text =
      "# h\n\n**b** *i* ~~s~~ `c` [l](u)\n\n> q\n\n- i\n\n---\n\n```ts\nconst a = 'x' // c\n```";
    const lines = new pi.Markdown(text, 0, 0, pi.getMarkdownTheme()).render(40);
    const plain = lines.map((line) => line.replace(/\x1b\[[\d;]*m/g, "").trimEnd());
    assert.deepEqual(plain.slice(0, 4), ["h", "", "b i s c l (u)", ""]);
    assert.deepEqual(plain.slice(-3), ["```ts", "  const a = 'x' // c", "```"]);
  });

  test("code is coloured by its language", () => {
    const [line] = pi.highlightCode("let a = 'x' // 1", "ts");
    const { theme } = pi;
    assert.equal(
      line,
      `${theme.fg("syntaxKeyword", "let")} a = ${theme.fg("syntaxString", "'x'")} ${theme.fg("syntaxComment", "// 1")}`,
    );
    assert.deepEqual(
      pi.highlightCode("a\nb"),
      ["a", "b"].map((text) => theme.fg("mdCodeBlock", text)),
    );
    assert.equal(pi.getLanguageFromPath("/a/b.test.TS"), "typescript");
    assert.equal(pi.getLanguageFromPath("Makefile"), undefined);
  });
});

describe("tools", () => {
  test("the adapter puts the arguments into the order of custom tools", async () => {
    const tool = {
      name: "t",
      execute: (...args) => [tool.name, ...args],
      get description() {
        return "now";
      },
    };
    const adapter = new pi.CustomToolAdapter(tool, () => "context");
    assert.deepEqual(await adapter.execute("id", { a: 1 }, "signal", "onUpdate"), [
      "t",
      "id",
      { a: 1 },
      "onUpdate",
      "context",
      "signal",
    ]);
    assert.deepEqual([adapter.name, adapter.description, "name" in adapter], ["t", "now", true]);
  });

  test("ToolError is an error with a context", () => {
    const error = new pi.ToolError("no", { path: "x" });
    assert.ok(error instanceof Error);
    assert.deepEqual(
      [error.name, error.render(), error.context],
      ["ToolError", "no", { path: "x" }],
    );
  });

  test("work on one file is done in turn, also after a failure", async () => {
    const seen = [];
    const first = pi.withFileMutationQueue("/f", async () => {
      await null;
      seen.push(1);
      throw new Error("first");
    });
    const second = pi.withFileMutationQueue("/f", async () => seen.push(2));
    await assert.rejects(first, { message: "first" });
    await second;
    assert.deepEqual(seen, [1, 2]);
  });

  test("what needs an agent loads, and says so when it is used", () => {
    assert.throws(() => pi.createAgentSession(), {
      message: /`createAgentSession` of pi-coding-agent is not available here/,
    });
    assert.throws(() => pi.SessionManager.open("x"), /SessionManager\.open/);
    assert.throws(() => load("pi-ai").complete(), /talks to no model/);
    assert.throws(() => new (load("pi-agent-core").Agent)(), /no agent loop/);
  });

  test("a session in memory keeps its entries in order", () => {
    const session = pi.SessionManager.inMemory("/w");
    const first = session.appendMessage({ role: "user" });
    session.appendCustomEntry("note", 1);
    const [message, note] = session.getBranch();
    assert.deepEqual([message.id, message.parentId, note.parentId], [first, null, first]);
    assert.deepEqual(
      [session.getCwd(), session.getLeafId(), session.getSessionFile()],
      ["/w", note.id, undefined],
    );
  });

  test("settings live as long as their object", () => {
    const settings = pi.Settings.isolated({ a: 1 });
    settings.set("b", 2);
    assert.deepEqual([settings.get("a"), settings.get("b"), settings.get("c")], [1, 2, undefined]);
  });

  test("the agent's folder follows the environment", (t) => {
    const { PI_CODING_AGENT_DIR: before } = process.env;
    t.after(() => {
      if (before === undefined) delete process.env.PI_CODING_AGENT_DIR;
      else process.env.PI_CODING_AGENT_DIR = before;
    });
    process.env.PI_CODING_AGENT_DIR = "/x/agent";
    assert.equal(pi.getAgentDir(), "/x/agent");
  });

  test("the logger is that of the runtime", () => {
    assert.equal(pi.logger, globalThis[Symbol.for("haft.logger")]);
  });
});

describe("functions of pi 1.6", () => {
  test("name the lines that were read", () => {
    const cases = [
      [undefined, undefined, ""],
      [3, null, ":3"],
      [3, 5, ":3-7"],
      [null, "2", ":1-2"],
      ["x", 2, ""],
      [3, {}, ""],
    ];
    for (const [offset, limit, expected] of cases)
      assert.equal(pi.formatReadLineRange(offset, limit), expected, `${offset} ${limit}`);
  });

  test("know images by their first bytes", async () => {
    const folder = mkdtempSync(join(tmpdir(), "haft-images-"));
    const png = (chunk) =>
      Buffer.concat([
        Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1"),
        Buffer.alloc(17),
        Buffer.from(`\0\0\0\0${chunk}\0\0\0\0IDAT`, "latin1"),
      ]);
    const files = [
      [png("tEXt"), "image/png"],
      [png("acTL"), null],
      [Buffer.from([0xff, 0xd8, 0xff, 0xe0]), "image/jpeg"],
      [Buffer.from([0xff, 0xd8, 0xff, 0xf7]), null],
      [Buffer.from("GIF89a"), "image/gif"],
      [Buffer.from("RIFF\n\n\0\0WEBPVP8 "), "image/webp"],
      [Buffer.from("a text"), null],
      [Buffer.alloc(0), null],
    ];
    try {
      for (const [bytes, expected] of files) {
        const file = join(folder, "file");
        writeFileSync(file, bytes);
        assert.equal(
          await pi.detectSupportedImageMimeTypeFromFile(file),
          expected,
          bytes.toString(),
        );
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("describe an image that is shown smaller", async () => {
    assert.equal(await pi.resizeImage(new Uint8Array(), "image/png"), null);
    const image = { originalWidth: 400, originalHeight: 200, width: 100, height: 50 };
    assert.equal(pi.formatDimensionNote({ ...image, wasResized: false }), undefined);
    const note = pi.formatDimensionNote({ ...image, wasResized: true });
    assert.equal(
      note,
      "[The image is shown at 100x50; the original has 400x200: multiply places by 4.00.]",
    );
  });

  test("find a shell and what is below frontmatter", () => {
    assert.deepEqual(pi.getShellConfig("/bin/sh"), { shell: "/bin/sh", args: ["-c"] });
    assert.deepEqual(pi.getShellConfig().args, ["-c"]);
    assert.throws(() => pi.getShellConfig("/none/sh"), {
      message: "There is no shell at /none/sh",
    });
    assert.equal(pi.stripFrontmatter("---\na: 1\n---\nbody\n"), "body");
  });

  test("that belong to an agent or a screen load, and say so when they are used", () => {
    const members = [
      [pi, "createMcpExtension"],
      [load("pi-ai"), "createModels"],
      [load("pi-agent-core"), "runAgentLoop"],
      [load("pi-tui"), "HStack"],
    ];
    for (const [owner, name] of members)
      assert.throws(() => new owner[name](), {
        message: new RegExp(`^\`${name}\` of pi-[a-z-]+ is not available here: `),
      });
  });
});
