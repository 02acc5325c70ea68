// pi's own tools, which `pi-coding-agent` makes for extensions that change them.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { load } from "./packages_host.mjs";

const pi = load("pi-coding-agent");
let folder;

before(() => {
  Object.defineProperty(globalThis, "Bun", { get: () => load("bun"), configurable: true });
  folder = mkdtempSync(join(tmpdir(), "haft-pi-tools-"));
  mkdirSync(join(folder, "src/.git"), { recursive: true });
  writeFileSync(join(folder, "src/a.ts"), "one\ntwo\nthree\n");
  writeFileSync(join(folder, "src/.git/b.ts"), "two\n");
  writeFileSync(join(folder, "notes.md"), "Two\n");
  writeFileSync(join(folder, "dot.png"), Buffer.from("iVBORw0KGgo=", "base64"));
});

after(() => rmSync(folder, { recursive: true }));

const run = (tool, params, ...rest) => tool.execute("call", params, ...rest);
const text = async (result) => (await result).content[0].text;

test("read: lines, the rest, a picture, and what is no line of the file", async () => {
  const read = pi.createReadTool(folder);
  assert.equal(read.name, "read");
  assert.equal(await text(run(read, { path: "src/a.ts" })), "one\ntwo\nthree\n");
  const part = await text(run(read, { path: "@src/a.ts", offset: 2, limit: 1 }));
  assert.equal(part, "two\n\n[2 more lines. offset=3 continues.]");
  const picture = await run(read, { path: "dot.png" });
  assert.deepEqual(picture.content[1], {
    type: "image",
    data: "iVBORw0KGgo=",
    mimeType: "image/png",
  });
  await assert.rejects(run(read, { path: "notes.md", offset: 9 }), /beyond the end/);
  await assert.rejects(run(read, { path: "gone" }), { code: "ENOENT" });
});

test("read: another machine's files", async () => {
  const asked = [];
  const operations = {
    access: async (path) => asked.push(path),
    readFile: async (path) => Buffer.from(`of ${path}`),
  };
  const read = pi.createReadToolDefinition("/far", { operations });
  assert.equal(await text(run(read, { path: "x" })), "of /far/x");
  assert.deepEqual(asked, ["/far/x"]);
});

test("write and edit: folders, differences, texts that are not unique", async () => {
  const path = "new/deep/file.txt";
  await run(pi.createWriteTool(folder), { path, content: "a\nb\na\n" });
  const edit = pi.createEditTool(folder);
  const result = await run(edit, { path, oldText: "b", newText: "c" });
  assert.equal(result.details.firstChangedLine, 2);
  assert.match(result.details.diff, /^-2 b$/m);
  await run(edit, { path, edits: [{ oldText: "a\nc", newText: "d" }] });
  assert.equal(readFileSync(join(folder, path), "utf8"), "d\na\n");
  await run(pi.createWriteTool(folder), { path, content: "a a" });
  await assert.rejects(run(edit, { path, oldText: "a", newText: "b" }), /Found 2 occurrences/);
  await assert.rejects(run(edit, { path, oldText: "x", newText: "b" }), /Could not find/);
  await assert.rejects(run(edit, { path, oldText: "a a", newText: "a a" }), /No changes/);
});

test("ls, find and grep: names, patterns, matches with their surroundings, limits", async () => {
  const listed = await text(run(pi.createLsTool(folder), { path: "src" }));
  assert.equal(listed, ".git/\na.ts");
  const find = pi.createFindTool(folder);
  assert.equal(await text(run(find, { pattern: "*.ts" })), "src/a.ts");
  assert.equal(await text(run(find, { pattern: "*.rs" })), "No files found matching pattern");
  const grep = pi.createGrepTool(folder);
  assert.equal(await text(run(grep, { pattern: "^two", glob: "*.ts" })), "src/a.ts:2: two");
  const around = await text(
    run(grep, { pattern: "TWO", ignoreCase: true, path: "src", context: 1 }),
  );
  assert.equal(around, "a.ts-1- one\na.ts:2: two\na.ts-3- three");
  const limited = await run(grep, { pattern: "e", limit: 1, path: "src/a.ts" });
  assert.deepEqual(limited.details, { matchLimitReached: 1 });
  assert.equal(await text(run(grep, { pattern: "(", literal: true })), "No matches found");
});

test("bash: output as it comes, failures, timeouts, hooks and another machine", async () => {
  const hook = ({ command, env }) => ({ command, cwd: folder, env: { ...env, GREETING: "hi" } });
  const bash = pi.createBashTool(folder, { spawnHook: hook, commandPrefix: "set -e" });
  const updates = [];
  const command = 'echo "$GREETING"; echo more >&2';
  const result = await run(bash, { command }, undefined, (partial) => updates.push(partial));
  assert.deepEqual(result.content[0].text.split("\n").sort(), ["", "hi", "more"]);
  assert.ok(updates.length > 0);
  await assert.rejects(run(bash, { command: "echo out; exit 3" }), {
    message: "out\n\n\nCommand exited with code 3",
  });
  await assert.rejects(run(bash, { command: "sleep 30", timeout: 0.05 }), /timed out after 0.05 s/);
  await assert.rejects(run(bash, { command: "sleep 30" }, AbortSignal.abort()), /Command aborted/);
  const operations = {
    exec: async (ran, cwd, { onData }) => {
      onData(Buffer.from(`${ran} in ${cwd}`));
      return { exitCode: 0 };
    },
  };
  const far = pi.createBashTool("/far", { operations });
  assert.equal(await text(run(far, { command: "ls" })), "ls in /far");
});

test("patches of several hunks, and ids in the order of time", () => {
  const lines = Array.from({ length: 20 }, (_, at) => `line ${at + 1}`);
  const changed = lines.with(1, "second").toSpliced(18, 1);
  const patch = pi.generateUnifiedPatch("a.txt", lines.join("\n"), changed.join("\n"), 1);
  assert.equal(
    patch,
    [
      "--- a.txt",
      "+++ a.txt",
      "@@ -1,3 +1,3 @@",
      " line 1",
      "-line 2",
      "+second",
      " line 3",
      "@@ -18,3 +18,2 @@",
      " line 18",
      "-line 19",
      " line 20",
      "\\ No newline at end of file",
      "",
    ].join("\n"),
  );
  assert.equal(pi.generateUnifiedPatch("a", "x", "x"), "--- a\n+++ a\n");
  const { uuidv7 } = load("pi-ai");
  assert.match(uuidv7(), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
