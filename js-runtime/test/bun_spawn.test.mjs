// `Bun.spawn`, `Bun.spawnSync` and `Bun.$` with real programs. Expected values are Bun 1.4.5's.

import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

import { load } from "./packages_host.mjs";

const { spawn, spawnSync, file, $ } = load("bun");
let folder;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "haft-bun-spawn-"));
});
after(() => rm(folder, { recursive: true }));

/** Collects what the code under test writes to the console, which is the tool's log. */
function logged(t) {
  const lines = [];
  t.mock.method(console, "log", (line) => lines.push(["out", line]));
  t.mock.method(console, "error", (line) => lines.push(["err", line]));
  return lines;
}

describe("spawn", () => {
  test("gives output as streams, and the code", async () => {
    const child = spawn(["sh", "-c", "echo out; echo err >&2; exit 3"], { stderr: "pipe" });
    assert.ok(child.pid > 0);
    assert.ok(child.stdout instanceof ReadableStream);
    assert.equal(await new Response(child.stdout).text(), "out\n");
    assert.equal(await child.stderr.text(), "err\n");
    assert.deepEqual(
      [await child.exited, child.exitCode, child.signalCode, child.killed],
      [3, 3, null, true],
    );
    assert.equal(child.stdin, undefined);
  });

  test("takes one object as well", async () => {
    const child = spawn({
      cmd: ["sh", "-c", "echo $X; pwd"],
      env: { ...process.env, X: "1" },
      cwd: "/",
    });
    assert.equal(await child.stdout.text(), "1\n/\n");
  });

  test("streams while the program runs, and loses nothing of much", async () => {
    const child = spawn(["sh", "-c", "echo ready; read line; head -c 3000000 /dev/zero"], {
      stdin: "pipe",
    });
    const reader = child.stdout.getReader();
    assert.equal(new TextDecoder().decode((await reader.read()).value), "ready\n");
    child.stdin.write("go\n");
    let total = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read())
      total += part.value.length;
    assert.equal(total, 3000000);
    assert.equal(await child.exited, 0);
  });

  test("a stream that nobody wants does not hold the program", async () => {
    const child = spawn(["head", "-c", "3000000", "/dev/zero"]);
    await child.stdout.cancel();
    assert.equal(await child.exited, 0);
  });

  test("stdin can be written", async () => {
    const child = spawn(["cat"], { stdin: "pipe" });
    assert.equal(child.stdin.write("héllo"), 6);
    assert.equal(await child.stdin.flush(), 6);
    await child.stdin.end();
    assert.equal(await child.stdout.text(), "héllo");
  });

  const inputs = [
    ["a blob", () => new Blob(["in"])],
    ["a response", () => new Response("in")],
    ["bytes", () => new TextEncoder().encode("in")],
    ["a stream", () => new Blob(["in"]).stream()],
    ["a file", () => file(join(folder, "input.txt"))],
  ];
  for (const [name, make] of inputs) {
    test(`stdin can be ${name}`, async () => {
      await writeFile(join(folder, "input.txt"), "in");
      assert.equal(await spawn(["cat"], { stdin: make() }).stdout.text(), "in");
    });
  }

  test("stdin is empty otherwise", async () => {
    for (const stdin of [undefined, null, "inherit", "ignore"]) {
      assert.equal(await spawn(["cat"], { stdin }).stdout.text(), "");
    }
  });

  test("a program that does not read its input harms nobody", async () => {
    const child = spawn(["true"], { stdin: new Blob(["x".repeat(1000000)]) });
    assert.equal(await child.exited, 0);
  });

  test("output goes into a file", async () => {
    const path = join(folder, "output.txt");
    const child = spawn(["echo", "hi"], { stdout: file(path) });
    assert.equal(child.stdout, undefined);
    assert.equal(await child.exited, 0);
    assert.equal(await readFile(path, "utf8"), "hi\n");
  });

  test("inherited output goes to the log", async (t) => {
    const lines = logged(t);
    const child = spawn(["sh", "-c", "echo out; echo err >&2"], { stdout: "inherit" });
    await child.exited;
    // The pipes end on their own time, after the program.
    while (lines.length < 2) await new Promise((done) => setImmediate(done));
    assert.deepEqual(lines.sort(), [
      ["err", "err"],
      ["out", "out"],
    ]);
  });

  test("a killed program has the code of its signal", async () => {
    const child = spawn(["sleep", "60"]);
    child.kill();
    assert.deepEqual(
      [await child.exited, child.exitCode, child.signalCode],
      [143, null, "SIGTERM"],
    );
    const other = spawn(["sleep", "60"]);
    other.kill(9);
    assert.deepEqual([await other.exited, other.signalCode], [137, "SIGKILL"]);
  });

  test("a timeout and a signal stop it, also a signal that was aborted before", async () => {
    const exits = [];
    const onExit = (_child, code, signal) => exits.push([code, signal]);
    const late = spawn(["sleep", "60"], { timeout: 20, killSignal: "SIGKILL", onExit });
    assert.equal(await late.exited, 137);
    const controller = new AbortController();
    const aborted = spawn(["sleep", "60"], { signal: controller.signal, onExit });
    controller.abort();
    assert.equal(await aborted.exited, 143);
    assert.equal(await spawn(["sleep", "60"], { signal: AbortSignal.abort() }).exited, 143);
    assert.deepEqual(exits, [
      [null, "SIGKILL"],
      [null, "SIGTERM"],
    ]);
  });

  test("what cannot run throws at once", () => {
    assert.throws(() => spawn(["no-such-program"]), {
      code: "ENOENT",
      message: 'Executable not found in $PATH: "no-such-program"',
      path: "no-such-program",
    });
    assert.throws(() => spawn(["true"], { cwd: "/no/such" }), {
      code: "ENOENT",
      message: "ENOENT: no such file or directory, posix_spawn 'true'",
    });
    assert.throws(() => spawn([]), { name: "TypeError", message: "cmd must not be empty" });
    assert.throws(() => spawn(["true"], { stdout: 7 }), /stdout and stderr must be/);
    assert.throws(() => spawn(["true"], { stdin: 7 }), /stdin must be/);
  });
});

describe("spawnSync", () => {
  test("gives everything at the end", () => {
    const done = spawnSync(["sh", "-c", "cat; echo err >&2; exit 3"], {
      stdin: new TextEncoder().encode("in"),
    });
    assert.deepEqual([done.exitCode, done.success, done.pid > 0], [3, false, true]);
    assert.deepEqual([done.stdout.toString(), done.stderr.toString()], ["in", "err\n"]);
    assert.ok(!("signalCode" in done));
    assert.equal(spawnSync(["true"]).success, true);
  });

  test("says that the time was up", () => {
    const done = spawnSync(["sleep", "60"], { timeout: 20 });
    assert.deepEqual(
      [done.exitCode, done.signalCode, done.exitedDueToTimeout],
      [null, "SIGTERM", true],
    );
  });

  test("reads and writes files", async () => {
    await writeFile(join(folder, "sync-in.txt"), "in");
    const out = file(join(folder, "sync-out.txt"));
    const done = spawnSync(["cat"], { stdin: file(join(folder, "sync-in.txt")), stdout: out });
    assert.equal(done.stdout, undefined);
    assert.equal(await out.text(), "in");
  });

  test("what cannot run throws", () => {
    assert.throws(() => spawnSync(["no-such-program"]), { code: "ENOENT" });
    assert.throws(() => spawnSync(["cat"], { stdin: new Blob(["x"]) }), /need spawn/);
  });
});

describe("$", () => {
  const cases = [
    [
      "values are arguments",
      () => $`printf '[%s]' ${"a b; $(x)"} ${"it's"} ${""} ${1} ${null}`,
      "[a b; $(x)][it's][][1][null]",
    ],
    ["arrays are several", () => $`printf '[%s]' ${["x y", "z"]} ${[]}end`, "[x y][z][end]"],
    ["a value in double quotes", () => $`printf '[%s]' "in ${'a"b $HOME'} q"`, '[in a"b $HOME q]'],
    ["a value in single quotes", () => $`printf '[%s]' 'single ${"it's"} q'`, "[single it's q]"],
    ["a quoted quote", () => $`printf '[%s]' \"${"a b"}\"`, '["a b"]'],
    ["a value as part of a word", () => $`printf '[%s]' pre${"a b"}post`, "[prea bpost]"],
    ["raw text", () => $`printf '[%s]' ${{ raw: "a  b" }}`, "[a][b]"],
    ["pipes and conditions", () => $`echo hi | tr a-z A-Z && true || echo no`, "HI\n"],
    ["a file that is read", () => $`cat < ${file(join(folder, "read me.txt"))}`, "read"],
    [
      "settings of the call",
      () => $`echo $FOO; pwd`.env({ ...process.env, FOO: "bar" }).cwd("/"),
      "bar\n/\n",
    ],
    ["globs", () => $`echo *.glob`.cwd(folder), "a.glob b.glob\n"],
  ];
  before(async () => {
    await writeFile(join(folder, "read me.txt"), "read");
    for (const name of ["a.glob", "b.glob"]) await writeFile(join(folder, name), "");
  });
  for (const [name, run, expected] of cases) {
    test(name, async () => assert.equal(await run().text(), expected));
  }

  test("gives output in every form", async () => {
    const output = await $`echo '{"a":1}'; echo err >&2`.quiet();
    assert.deepEqual(
      [output.exitCode, output.stdout.toString(), output.stderr.toString()],
      [0, '{"a":1}\n', "err\n"],
    );
    assert.deepEqual([output.json(), output.bytes().length, output.blob().size], [{ a: 1 }, 8, 8]);
    assert.deepEqual(await $`echo '[2]'`.json(), [2]);
    const lines = [];
    for await (const line of $`printf 'a\nb\n'`.lines()) lines.push(line);
    assert.deepEqual(lines, ["a", "b", ""]);
  });

  test("a failure throws, unless told otherwise", async () => {
    await assert.rejects($`echo out; echo err >&2; exit 4`.quiet(), (error) => {
      assert.ok(error instanceof $.ShellError);
      assert.deepEqual(
        [error.name, error.message, error.exitCode],
        ["ShellError", "Failed with exit code 4", 4],
      );
      assert.deepEqual([error.stdout.toString(), error.stderr.toString()], ["out\n", "err\n"]);
      return true;
    });
    assert.equal((await $`exit 4`.nothrow()).exitCode, 4);
    assert.equal((await $`exit 5`.throws(false)).exitCode, 5);
  });

  test("output that is not quiet goes to the log", async (t) => {
    const lines = logged(t);
    await $`echo out; echo err >&2`;
    assert.deepEqual(lines, [
      ["out", "out"],
      ["err", "err"],
    ]);
    await $`echo out`.quiet();
    assert.equal(lines.length, 2);
  });

  test("runs once, when the result is first asked for", async () => {
    const path = join(folder, "runs.txt");
    const command = $`echo x >> ${path}`;
    assert.equal(await file(path).exists(), false);
    await command;
    await command;
    assert.equal(await file(path).text(), "x\n");
  });

  test("refuses values that have no text", () => {
    assert.throws(() => $`echo ${{ a: 1 }}`, /Invalid JS object used in shell: \[object Object\]/);
    assert.throws(() => $`cat < ${new Response("x")}`, /write them to a file first/);
    assert.throws(() => $`echo ${"a\0b"}`, /NUL/);
  });

  test("escapes for other shells' use", () => {
    assert.deepEqual([$.escape("abc"), $.escape("it's")], ["abc", "'it'\\''s'"]);
  });
});
