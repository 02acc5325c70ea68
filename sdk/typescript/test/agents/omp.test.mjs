// The adapter for oh-my-pi, with its SDK. It needs Bun, so each turn is a program of its own.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { anthropicModel, anthropicResults, assertAnthropic, CALLS, wait } from "../fake_models.mjs";
import { place } from "../harness.mjs";
import { BUN, run } from "./runtimes.mjs";

const PROGRAM = fileURLToPath(new URL("./programs/omp.mjs", import.meta.url));
const WAITING = [[{ type: "text", text: "waiting" }]];

async function turn(t, model, mode) {
  return JSON.parse(await run(t, [BUN, PROGRAM, model.url, mode]));
}

test("omp: text, image, error", async (t) => {
  const model = await anthropicModel(t, CALLS);
  assert.equal((await turn(t, model, "answer")).text, "finished");
  assertAnthropic(model, "not today");
});

test("omp: updates and cancellation", async (t) => {
  const mark = join(place(t).root, "mark");
  const model = await anthropicModel(t, wait(mark));
  assert.deepEqual((await turn(t, model, "cancel")).updates, WAITING);
  assert.ok(existsSync(mark), "the tool was not cancelled");
});

test("omp: a crash of haft is an error of the tool", async (t) => {
  const model = await anthropicModel(t, wait());
  assert.deepEqual((await turn(t, model, "crash")).updates, WAITING);
  assert.deepEqual(anthropicResults(model)["call_9"], {
    content: ["haft rpc ended by SIGKILL"],
    isError: true,
  });
});
