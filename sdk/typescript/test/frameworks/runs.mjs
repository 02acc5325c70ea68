// Runs of agents that are cancelled, or that lose haft.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";

import { haft } from "../../dist/index.mjs";
import { wait } from "../fake_models.mjs";
import { place, started } from "../harness.mjs";

/** Runs `call` with a signal, aborts it when the tool runs, and waits until the tool has stopped. */
export async function assertCancels(t, run) {
  const tools = await started(t, haft);
  const mark = join(place(t).root, "mark");
  const controller = new AbortController();
  const onUpdate = () => controller.abort();
  const ended = run(tools, wait(mark), controller.signal, { onUpdate });
  await assert.rejects(ended);
  await tools.close();
  assert.ok(existsSync(mark), "the tool was not cancelled");
}

/** Kills haft when the tool runs. Returns the model and what became of the run. */
export async function crashed(t, makeModel, run) {
  const tools = await started(t, haft);
  const model = await makeModel(t, wait());
  const onUpdate = () => process.kill(tools.pid, "SIGKILL");
  const ended = run(tools, model, { onUpdate }).then(
    () => "the model went on",
    (error) => error.message,
  );
  return { model, ended: await ended };
}

/** Message of the error after a crash. */
export const CRASH = "haft rpc ended by SIGKILL";
