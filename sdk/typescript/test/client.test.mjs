// The client with a real haft: calls, questions, events, and every way in which haft can end.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { getEventListeners, once } from "node:events";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { HaftError, haft } from "../dist/index.mjs";
import { atEnd, isAlive, options, PNG, place, started, TOOLS } from "./harness.mjs";

const says = (text) => [{ type: "text", text }];

test("lists and calls tools", async (t) => {
  const tools = await started(t, haft);
  const names = (await tools.list()).map((tool) => tool.name);
  assert.deepEqual(names, [
    "add",
    "picture",
    "fail",
    "count",
    "wait",
    "choose",
    "inform",
    "deploy",
    "pid",
  ]);
  assert.deepEqual(tools.problems, []);

  const { durationMs, ...result } = await tools.call("add", { a: 1, b: 2 });
  assert.equal(typeof durationMs, "number");
  assert.deepEqual(result, { content: says("3"), details: { sum: 3 }, isError: false, text: "3" });
  const picture = await tools.call("picture");
  assert.deepEqual(picture.content[1], { type: "image", data: PNG, mimeType: "image/png" });
});

test("failures that a model reads are results", async (t) => {
  const tools = await started(t, haft);
  const failed = await tools.call("fail");
  assert.deepEqual([failed.isError, failed.text], [true, "not today"]);
  const unknown = await tools.call("ad", {});
  assert.deepEqual([unknown.isError, unknown.text], [true, "Tool ad not found. Did you mean add?"]);
  const invalid = await tools.call("add", { a: "x" });
  assert.match(invalid.text, /^Validation failed for tool "add":/);
  assert.match(await tools.validate("add", { a: "x" }), /^Validation failed for tool "add":/);
  assert.equal(await tools.validate("add", { a: 1, b: 2 }), undefined);
  await assert.rejects(tools.validate("ad"), { kind: "no-such-tool" });
});

test("a script calls tools, and its user is asked once for each tool", async (t) => {
  const asked = [];
  const onApproval = ({ tool }) => asked.push(tool) > 0;
  const tools = await started(t, haft, { onApproval });
  const script = `
    const sums = await Promise.all([1, 2].map((n) => tools.add({ a: n, b: args.b })));
    await tools.deploy({ to: "here" });
    await tools.deploy({ to: "there" });
    sums.map(({ sum }) => sum)`;
  const result = await tools.run(script, { args: { b: 10 } });
  assert.deepEqual([result.isError, result.text], [false, "[11,12]"]);
  assert.deepEqual(result.details.value, [11, 12]);
  assert.deepEqual(result.details.calls[3], { tool: "deploy", state: "done" });
  assert.deepEqual(asked, ["deploy"]);
  const failed = await tools.run("await tools.fail()");
  assert.deepEqual([failed.isError, failed.text.split("\n")[0]], [true, "ToolError: not today"]);
  assert.match(await tools.search("deploy"), /tools\.deploy\(args: \{/);
});

test("updates come in order, before the result", async (t) => {
  const tools = await started(t, haft);
  const seen = [];
  const result = await tools.call("count", { to: 3 }, { onUpdate: (u) => seen.push(u.content) });
  seen.push(result.content);
  assert.deepEqual(seen, [says("1 of 3"), says("2 of 3"), says("3 of 3"), says("done")]);
});

test("an aborted call rejects with the reason and stops the tool", async (t) => {
  const tools = await started(t, haft);
  const mark = join(place(t).root, "mark");
  const controller = new AbortController();
  const reason = new Error("enough");
  const onUpdate = () => controller.abort(reason);
  const call = tools.call("wait", { mark }, { signal: controller.signal, onUpdate });
  await assert.rejects(call, (error) => error === reason);
  // The tool has stopped when haft has ended.
  await tools.close();
  assert.ok(existsSync(mark));

  const aborted = tools.call("add", {}, { signal: controller.signal });
  await assert.rejects(aborted, (error) => error === reason);
});

test("many calls may share a signal", async (t) => {
  const tools = await started(t, haft);
  const warnings = [];
  const onWarning = (warning) => warnings.push(warning.name);
  process.on("warning", onWarning);
  atEnd(t, () => process.off("warning", onWarning));
  const controller = new AbortController();
  const { signal } = controller;
  const reason = new Error("enough");
  let running = 0;
  const onUpdate = () => {
    if (++running === 20) controller.abort(reason);
  };
  const calls = Array.from({ length: 20 }, () => tools.call("wait", {}, { signal, onUpdate }));
  const settled = await Promise.allSettled(calls);
  assert.ok(settled.every((call) => call.reason === reason));
  assert.deepEqual([getEventListeners(signal, "abort"), warnings], [[], []]);
});

test("a timeout is a result", async (t) => {
  const tools = await started(t, haft);
  const result = await tools.call("wait", {}, { timeoutMs: 50 });
  assert.equal(result.stopped, "deadline");
});

test("questions reach the handler of the call, else that of haft", async (t) => {
  const tools = await started(t, haft, { onAsk: ({ options }) => options[0] });
  const names = ["Iris", "Juno"];
  assert.equal((await tools.call("choose", { names })).text, "chosen: Iris");
  const asked = [];
  const onAsk = ({ signal, ...question }) => {
    asked.push(question);
    return "Juno";
  };
  assert.equal((await tools.call("choose", { names }, { onAsk })).text, "chosen: Juno");
  const callId = asked[0].callId;
  assert.deepEqual(asked, [
    { callId, tool: "choose", title: "Which name?", options: names, method: "select" },
  ]);
});

test("without a handler no question is asked", async (t) => {
  const tools = await started(t, haft);
  assert.equal((await tools.call("choose", { names: ["a"] })).text, "chosen: undefined");
  assert.equal((await tools.call("inform")).text, "has a user: false");
});

test("messages of tools to the user are events", async (t) => {
  const tools = await started(t, haft);
  const seen = [];
  const stop = ["notify", "status", "editorText"].map((type) =>
    tools.events.on(type, ({ callId, ...event }) => seen.push(event)),
  );
  const ask = { onAsk: () => undefined };
  assert.equal((await tools.call("inform", {}, ask)).text, "has a user: true");
  assert.deepEqual(seen, [
    { type: "notify", tool: "inform", message: "saved", level: "info" },
    { type: "status", tool: "inform", key: "k", text: "half" },
    { type: "editorText", tool: "inform", text: "draft" },
  ]);
  for (const remove of stop) remove();
  await tools.call("inform", {}, ask);
  assert.equal(seen.length, 3);
});

test("every loop over the events gets them, and a listener that throws does no harm", async (t) => {
  const tools = await started(t, haft);
  const errors = [];
  tools.events.on("error", ({ error }) => errors.push(error.message));
  tools.events.on("notify", () => {
    throw new Error("bad listener");
  });
  const first = async () => {
    for await (const event of tools.events) return event.type;
  };
  const loops = Promise.all([first(), first()]);
  await tools.call("inform", {}, { onAsk: () => undefined });
  assert.deepEqual([await loops, errors], [["notify", "notify"], ["bad listener"]]);
});

test("a question that is not needed any more is withdrawn", async (t) => {
  const tools = await started(t, haft);
  const controller = new AbortController();
  const withdrawn = new Promise((resolve) => {
    const onAsk = ({ signal }) =>
      new Promise((answer) => {
        signal.addEventListener("abort", () => {
          answer(undefined);
          resolve();
        });
        controller.abort();
      });
    const call = tools.call("choose", { names: ["a"] }, { onAsk, signal: controller.signal });
    call.catch(() => {});
  });
  await withdrawn;
});

test("approval: a handler decides, without one the call is refused", async (t) => {
  const tools = await started(t, haft, { approvalMode: "write" });
  const refused = await tools.call("deploy", { to: "web" });
  assert.equal(refused.isError, true);
  const asked = [];
  const onApproval = (request) => {
    asked.push([request.tool, request.tier, request.arguments]);
    return request.arguments.to === "web";
  };
  assert.equal((await tools.call("deploy", { to: "web" }, { onApproval })).text, "deployed web");
  assert.equal((await tools.call("deploy", { to: "db" }, { onApproval })).isError, true);
  assert.deepEqual(asked, [
    ["deploy", "exec", { to: "web" }],
    ["deploy", "exec", { to: "db" }],
  ]);
});

test("an exception in a handler rejects its call and nothing else", async (t) => {
  const tools = await started(t, haft, { approvalMode: "write" });
  const bad = new Error("bad handler");
  const fail = () => {
    throw bad;
  };
  const other = tools.call("count", { to: 2 });
  const calls = [
    tools.call("count", { to: 2 }, { onUpdate: fail }),
    tools.call("choose", { names: ["a"] }, { onAsk: fail }),
    tools.call("deploy", { to: "web" }, { onApproval: async () => fail() }),
  ];
  const settled = await Promise.allSettled(calls);
  assert.deepEqual(
    settled.map(({ reason }) => reason),
    [bad, bad, bad],
  );
  assert.equal((await other).text, "done");
  assert.equal((await tools.call("add", { a: 1, b: 1 })).text, "2");
});

test("arguments that are not JSON reject", async (t) => {
  const tools = await started(t, haft);
  await assert.rejects(tools.call("add", { a: 1n }), TypeError);
  const cyclic = {};
  cyclic.self = cyclic;
  await assert.rejects(tools.call("add", cyclic), TypeError);
  await assert.rejects(tools.call("add", { a: "x".repeat(65 << 20) }), { kind: "usage" });
  assert.equal((await tools.call("add", { a: 1, b: 1 })).text, "2");
});

test("changes of files are events, and the list is kept", async (t) => {
  const { cwd, env, root } = place(t);
  const folder = join(root, "more");
  mkdirSync(folder);
  const tool = (name) =>
    `export default () => ({ name: "${name}", description: "d", parameters: { type: "object" },
      execute: () => ({ content: [{ type: "text", text: "${name}" }] }) });`;
  writeFileSync(join(folder, "index.js"), tool("one"));
  const binary = process.env.HAFT_BINARY;
  const tools = await haft({ cwd, env, binary, paths: [folder] });
  atEnd(t, () => tools.close());
  assert.deepEqual(Object.keys(tools.aiSdk()), ["one"]);
  const events = tools.events[Symbol.asyncIterator]();
  const next = events.next();
  writeFileSync(join(folder, "index.js"), tool("two"));
  const { value } = await next;
  assert.deepEqual([value.type, value.added, value.removed], ["changed", ["two"], ["one"]]);
  assert.deepEqual(Object.keys(tools.aiSdk()), ["two"]);
  await tools.close();
  assert.deepEqual((await events.next()).value.error.kind, "closed");
  assert.equal((await events.next()).done, true);
});

test("a selection hides the other tools", async (t) => {
  const tools = await started(t, haft, { include: ["*a*"], exclude: "wait" });
  const names = (await tools.list()).map((tool) => tool.name);
  assert.deepEqual(names, ["add", "fail"]);
  const hidden = await tools.call("count", { to: 1 });
  assert.deepEqual([hidden.isError, hidden.text], [true, "Tool count not found"]);
  assert.deepEqual(Object.keys(tools.aiSdk({ exclude: "add" })), ["fail"]);
});

test("toolsets come from the configuration", async (t) => {
  const { root, cwd, env } = place(t);
  const config = join(root, "config.yaml");
  writeFileSync(config, 'toolsets:\n  sums: ["a*", "c*", "!choose"]\n  other: [pid]\n');
  const common = { cwd, env, config, paths: [TOOLS], binary: process.env.HAFT_BINARY };
  const tools = await haft({ ...common, toolset: "sums" });
  atEnd(t, () => tools.close());
  assert.deepEqual(
    (await tools.list()).map((tool) => tool.name),
    ["add", "count"],
  );
  await assert.rejects(haft({ ...common, toolset: "sum" }), {
    kind: "usage",
    message: "there is no toolset `sum`\nhint: the configuration has: other, sums",
  });
});

test("limits and environment reach haft", async (t) => {
  const limited = await started(t, haft, { limits: { callTimeoutMs: 50 } });
  assert.equal((await limited.call("wait")).stopped, "deadline");
  const bad = haft(options(t, { env: { HOME: "/", HAFT_HEAP_MB: "many" } }));
  await assert.rejects(bad, { kind: "ended" });
});

test("a killed haft rejects every call, and later ones", async (t) => {
  const tools = await started(t, haft);
  let isRunning;
  const running = new Promise((resolve) => {
    isRunning = resolve;
  });
  const call = tools.call("wait", {}, { onUpdate: () => isRunning() });
  await running;
  process.kill(tools.pid, "SIGKILL");
  await assert.rejects(call, { kind: "ended", message: "haft rpc ended by SIGKILL" });
  await assert.rejects(tools.call("add", {}), { kind: "ended" });
  assert.deepEqual(await tools.ended, { code: null, signal: "SIGKILL" });
  await tools.close();
});

test("the error of a failed start has what haft wrote", async (t) => {
  const failed = haft(options(t, { args: ["--no-such-flag"] }));
  await assert.rejects(failed, (error) => {
    assert.ok(error instanceof HaftError);
    assert.match(error.message, /^haft rpc ended with exit code 2:\nerror: .*--no-such-flag/);
    return error.kind === "ended";
  });
});

test("a missing or broken program is an error", async (t) => {
  const { root } = place(t);
  await assert.rejects(haft({ binary: join(root, "none") }), { kind: "no-binary" });
  const broken = join(root, "haft");
  writeFileSync(broken, "\0\0not a program");
  chmodSync(broken, 0o755);
  await assert.rejects(haft({ binary: broken }), HaftError);
  const talks = join(root, "talks");
  writeFileSync(talks, "#!/bin/sh\necho hello\ncat >/dev/null\n");
  chmodSync(talks, 0o755);
  await assert.rejects(haft({ binary: talks }), { kind: "protocol" });
});

test("close ends running calls and the process, and may be repeated", async (t) => {
  const tools = await haft(options(t));
  let isRunning;
  const running = new Promise((resolve) => {
    isRunning = resolve;
  });
  const call = tools.call("wait", {}, { onUpdate: () => isRunning() });
  await running;
  await Promise.all([tools.close(), tools.close()]);
  const result = await call;
  assert.match(result.stopped, /cancelled|host-shutdown/);
  assert.equal(isAlive(tools.pid), false);
  await assert.rejects(tools.list(), { kind: "closed" });
  await tools[Symbol.asyncDispose]();
});

test("a program that does not close haft ends, and haft with it", async (t) => {
  const { cwd, env } = place(t);
  const program = fileURLToPath(new URL("./programs/forgets.mjs", import.meta.url));
  for (const how of ["returns", "exits", "throws"]) {
    const child = spawn(process.execPath, [program, how, process.env.HAFT_BINARY, TOOLS], {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const output = [];
    child.stdout.on("data", (chunk) => output.push(chunk));
    const [code] = await once(child, "close");
    const pid = Number(Buffer.concat(output).toString());
    assert.ok(pid > 0);
    assert.equal(code, { returns: 0, exits: 7, throws: 1 }[how]);
    for (let tries = 0; isAlive(pid) && tries < 500; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.equal(isAlive(pid), false);
  }
});

test("CommonJS programs get the same values", async () => {
  const { createRequire } = await import("node:module");
  const required = createRequire(import.meta.url)("../dist/index.js");
  assert.equal(required.haft, haft);
  assert.equal(required.HaftError, HaftError);
});
