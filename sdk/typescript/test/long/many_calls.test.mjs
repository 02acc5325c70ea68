// 10,000 calls, 64 at once, of found tools and of tools of the program: nothing piles up on either side.
// Runs with `--expose-gc`.

import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

import { defineTool, haft } from "../../dist/index.mjs";
import { started } from "../harness.mjs";

const CALLS = 10_000;
const AT_ONCE = 64;
/** Fills the caches, pools and heaps of both sides. */
const WARM_UP = 4_000;
/** The heap of V8 breathes by some megabytes. */
const MAX_GROWTH_OF_HAFT = 48 << 20;
const MAX_GROWTH_OF_HEAP = 4 << 20;

const echo = defineTool({
  name: "echo",
  description: "Returns a number",
  schema: { type: "object", properties: { number: { type: "number" } } },
  execute: async ({ number }, { onUpdate }) => {
    onUpdate(String(number));
    return `echo ${number}`;
  },
});

/** One signal for many calls, as that of an agent's run. */
const { signal: shared } = new AbortController();

/** Measures what must not grow. */
function measure(pid) {
  globalThis.gc();
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const resources = process.getActiveResourcesInfo();
  return {
    haft: Number(/VmRSS:\s+(\d+)/.exec(status)[1]) << 10,
    heap: process.memoryUsage().heapUsed,
    descriptors: [pid, "self"].map((id) => readdirSync(`/proc/${id}/fd`).length),
    resources: resources.length,
    listeners: process.listenerCount("exit") + getEventListeners(shared, "abort").length,
  };
}

async function call(tools, number) {
  const updates = [];
  const onUpdate = ({ content }) => updates.push(content[0].text);
  if (number % 100 === 2) {
    // Some are cancelled in the middle.
    const controller = new AbortController();
    const { signal } = controller;
    const cancelled = tools.call("wait", {}, { signal, onUpdate: () => controller.abort() });
    await assert.rejects(cancelled, { name: "AbortError" });
  } else if (number % 2 === 0) {
    const result = await tools.call("echo", { number }, { onUpdate });
    assert.deepEqual([result.text, updates], [`echo ${number}`, [String(number)]]);
  } else {
    const result = await tools.call("add", { a: number, b: 1 }, { signal: shared });
    assert.equal(result.text, String(number + 1));
  }
}

/** Makes calls, `AT_ONCE` at a time. */
async function many(tools, count) {
  let number = 0;
  const caller = async () => {
    while (number < count) await call(tools, number++);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
}

test("10,000 calls, 64 at once", async (t) => {
  const tools = await started(t, haft, { tools: [echo] });
  await many(tools, WARM_UP);
  const before = measure(tools.pid);
  await many(tools, CALLS);
  // The answers of cancelled calls are read before that of this one.
  await tools.call("add", { a: 1, b: 1 });
  const after = measure(tools.pid);
  const growth = { haft: after.haft - before.haft, heap: after.heap - before.heap };
  t.diagnostic(`haft ${growth.haft >> 10} KB, program ${growth.heap >> 10} KB`);
  assert.ok(growth.haft < MAX_GROWTH_OF_HAFT, `haft grew by ${growth.haft} bytes`);
  assert.ok(growth.heap < MAX_GROWTH_OF_HEAP, `the program grew by ${growth.heap} bytes`);
  const { descriptors, resources, listeners } = before;
  assert.deepEqual(
    [after.descriptors, after.resources, after.listeners],
    [descriptors, resources, listeners],
  );
});
