// Tools of the program: on the client, as an MCP server, and over HTTP.

import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { z } from "zod";
import { z as z3 } from "zod3";

import { defineTool, haft, image } from "../dist/index.mjs";
import { atEnd, isAlive, options, PNG, started } from "./harness.mjs";
import { startServer } from "./mcp_client.mjs";

const object = { type: "object" };

/** Defines a tool without arguments. */
const simple = (name, execute, rest = {}) => ({
  name,
  description: `Tests ${name}`,
  schema: object,
  execute,
  ...rest,
});

test("a tool gets checked arguments, and its result may have many forms", async (t) => {
  const tools = await started(t, haft, {
    tools: [
      defineTool({
        name: "times",
        label: "Times",
        description: "Multiplies",
        schema: z.object({ a: z.number(), b: z.number().default(2) }),
        approval: "read",
        execute: ({ a, b }) => ({ product: a * b }),
      }),
      defineTool({
        name: "old",
        description: "Takes a schema of zod 3",
        schema: z3.object({ text: z3.string().transform((text) => text.length) }),
        execute: ({ text }) => `${text} characters`,
      }),
      simple("nothing", () => {}),
      simple("number", () => 7),
      simple("blocks", () => [image(Buffer.from(PNG, "base64"), "image/png")]),
      simple("whole", () => ({
        content: [{ type: "text", text: "w" }],
        details: [1],
        isError: true,
      })),
      simple("throws", () => {
        throw new Error("went wrong");
      }),
      simple("rejects", async () => Promise.reject("a text")),
      simple("bigint", () => ({ value: 1n })),
    ],
  });
  const info = (await tools.list()).find((tool) => tool.name === "times");
  assert.deepEqual([info.label, info.approval, info.level], ["Times", "read", "host"]);
  assert.deepEqual(info.inputSchema.required, ["a"]);

  const call = async (name, args) => {
    const { durationMs, ...rest } = await tools.call(name, args);
    return rest;
  };
  const text = (text, more = {}) => ({
    content: [{ type: "text", text }],
    details: {},
    isError: false,
    text,
    ...more,
  });
  assert.deepEqual(
    await call("times", { a: 3 }),
    text('{"product":6}', { details: { product: 6 } }),
  );
  assert.match((await call("times", { a: "x" })).text, /^Validation failed for tool "times":/);
  assert.deepEqual(await call("old", { text: "four" }), text("4 characters"));
  assert.deepEqual(await call("nothing"), { ...text(""), content: [] });
  assert.deepEqual(await call("number"), text("7"));
  const block = { type: "image", data: PNG, mimeType: "image/png" };
  assert.deepEqual(await call("blocks"), { ...text(""), content: [block] });
  assert.deepEqual(await call("whole"), text("w", { details: [1], isError: true }));
  assert.deepEqual(await call("throws"), text("went wrong", { isError: true }));
  assert.deepEqual(await call("rejects"), text("a text", { isError: true }));
  assert.match((await call("bigint")).text, /BigInt/);
  assert.equal((await call("number")).text, "7");
});

test("updates, questions and cancellation", async (t) => {
  const reasons = [];
  const tools = await started(t, haft, {
    tools: [
      simple("asks", async (_args, { onUpdate, ask }) => {
        onUpdate("one");
        onUpdate({ content: [{ type: "text", text: "two" }], details: { n: 2 } });
        return [
          await ask.select("s", ["a", "b"]),
          await ask.confirm("c"),
          await ask.input("i", "p"),
          await ask.editor("e", "begin"),
        ].join(" ");
      }),
      simple("waits", (_args, { signal, onUpdate }) => {
        onUpdate("waiting");
        return new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            reasons.push(signal.reason.message);
            resolve("stopped");
          });
        });
      }),
    ],
  });
  const updates = [];
  const result = await tools.call("asks", undefined, {
    onUpdate: ({ content, details }) => updates.push([content[0].text, details]),
    onAsk: ({ method }) => (method === "confirm" ? true : method === "select" ? "b" : method),
  });
  assert.equal(result.text, "b true input editor");
  assert.deepEqual(updates, [
    ["one", {}],
    ["two", { n: 2 }],
  ]);
  // Without a handler.
  assert.equal((await tools.call("asks")).text, " false  ");

  const late = await tools.call("waits", {}, { timeoutMs: 50 });
  assert.equal(late.stopped, "deadline");
  const controller = new AbortController();
  const call = tools.call(
    "waits",
    {},
    {
      signal: controller.signal,
      onUpdate: () => controller.abort(),
    },
  );
  await assert.rejects(call, { name: "AbortError" });
  await tools.close();
  assert.deepEqual(reasons, ["the call was stopped: timed out", "the call was stopped: cancelled"]);
});

test("tools can be replaced while haft runs; a taken name is a problem", async (t) => {
  const tools = await started(t, haft, { tools: [simple("one", () => "1")] });
  const changed = new Promise((resolve) => tools.events.on("changed", resolve));
  assert.deepEqual(await tools.register([simple("two", () => "2")]), []);
  const names = () => Object.keys(tools.aiSdk({ include: ["one", "two", "add"] })).sort();
  assert.deepEqual(names(), ["add", "two"]);
  const event = await changed;
  assert.deepEqual([event.added, event.removed], [["two"], ["one"]]);
  assert.equal((await tools.call("two")).text, "2");

  const same = tools.register([simple("two", () => "2"), simple("two", () => "3")]);
  await assert.rejects(same, { message: "two tools of the program are named `two`" });
  const mine = simple("add", () => "mine");
  await tools.register([simple("two", () => "2"), mine]);
  assert.match(tools.problems[0].message, /"add" conflicts with existing tool/);
  await assert.rejects(tools.register([{ name: "none", schema: object }]), { kind: "usage" });
  await assert.rejects(tools.register([simple("bad", () => "", { schema: 7 })]), {
    message: /^the schema of the tool `bad`: expected a JSON Schema/,
  });
  assert.equal((await tools.call("two")).text, "2");
});

test("a tool that floods a slow reader loses updates, not its result", async (t) => {
  const tools = await started(t, haft, {
    tools: [
      simple("floods", (_args, { onUpdate }) => {
        const padding = "x".repeat(100_000);
        for (let number = 1; number <= 500; number++) onUpdate(`${number} ${padding}`);
        return "flooded";
      }),
    ],
  });
  let newest = "";
  let count = 0;
  const result = await tools.call(
    "floods",
    {},
    {
      onUpdate: ({ content }) => {
        newest = content[0].text.slice(0, 3);
        count++;
      },
    },
  );
  assert.deepEqual([result.text, newest], ["flooded", "500"]);
  assert.ok(count < 500);
});

test("a program of ten lines is an MCP server of its own and of all found tools", async (t) => {
  const { child, client } = startServer(t);
  await client.initialize();
  const { tools } = await client.request("tools/list");
  const names = tools.map((tool) => tool.name);
  assert.ok(names.includes("shout") && names.includes("add"), names.join());
  const shout = await client.request("tools/call", { name: "shout", arguments: { text: "hi" } });
  assert.deepEqual(shout.content, [{ type: "text", text: "HI!" }]);
  assert.equal(client.asked.length, 1);
  const add = await client.request("tools/call", { name: "add", arguments: { a: 1, b: 2 } });
  assert.deepEqual(add.content, [{ type: "text", text: "3" }]);
  child.stdin.end();
  const [code] = await once(child, "exit");
  assert.equal(code, 0);
});

test("a signal ends the server and its haft", async (t) => {
  const { child, client } = startServer(t);
  await client.initialize();
  const found = await client.request("tools/call", { name: "pid", arguments: {} });
  const pid = Number(found.content[0].text);
  assert.ok(isAlive(pid));
  child.kill("SIGTERM");
  const [code, signal] = await once(child, "exit");
  assert.deepEqual([code, signal], [null, "SIGTERM"]);
  assert.equal(isAlive(pid), false);
});

test("haft.serve serves the tools over HTTP", async (t) => {
  const server = await haft.serve(
    options(t, { noToken: true, tools: [simple("mine", () => "of the program")] }),
  );
  atEnd(t, () => server.close());
  assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+/);
  const response = await fetch(new URL("/api/tools/mine/call", server.url), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: "{}",
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  assert.match(text, /of the program/);
  // The program calls the tools of the same host, too.
  assert.equal((await server.call("add", { a: 1, b: 2 })).text, "3");
  const { pid } = server;
  await server.close();
  assert.equal(isAlive(pid), false);
  const taken = haft.serve(options(t, { listen: "nowhere:1", noToken: true }));
  await assert.rejects(taken, { kind: "ended" });
});
