// The adapter for the Vercel AI SDK with its three newest versions.

import assert from "node:assert/strict";
import { test } from "node:test";
import * as provider7 from "@ai-sdk/anthropic";
import * as ai7 from "ai";
import * as ai5 from "ai5";
import * as provider5 from "ai5-anthropic";
import * as ai6 from "ai6";
import * as provider6 from "ai6-anthropic";

import { haft } from "../../dist/index.mjs";
import {
  anthropicModel,
  anthropicResults,
  assertAnthropic,
  CALLS,
  count,
} from "../fake_models.mjs";
import { started } from "../harness.mjs";
import { assertCancels, CRASH, crashed } from "./runs.mjs";

// Other warnings concern the fake model; deprecated forms are a failure of the adapter.
globalThis.AI_SDK_LOG_WARNINGS = (given) => {
  const warnings = given.warnings ?? given;
  assert.deepEqual(
    warnings.filter(({ type }) => type === "deprecated"),
    [],
  );
};

for (const [version, ai, { createAnthropic }] of [
  [5, ai5, provider5],
  [6, ai6, provider6],
  [7, ai7, provider7],
]) {
  /** Options of a run with the fake model. */
  const going = ({ url }, tools, more) => ({
    model: createAnthropic({ baseURL: url, apiKey: "k" })("fake"),
    tools,
    stopWhen: (ai.isStepCount ?? ai.stepCountIs)(3),
    prompt: "go",
    ...more,
  });

  test(`AI SDK ${version}: text, image, error`, async (t) => {
    const tools = await started(t, haft);
    const model = await anthropicModel(t, CALLS);
    const result = await ai.generateText(going(model, tools.aiSdk()));
    assert.equal(result.text, "finished");
    assertAnthropic(model, version < 7 ? "not today" : "Error: not today");
    const [first] = result.steps;
    const kinds = first.content.map((part) => part.type).filter((type) => type !== "tool-call");
    assert.deepEqual(kinds, ["tool-result", "tool-result", "tool-error"]);
  });

  test(`AI SDK ${version}: updates are preliminary results`, async (t) => {
    const tools = await started(t, haft);
    const model = await anthropicModel(t, count);
    const result = ai.streamText(going(model, tools.aiSdk()));
    const seen = [];
    for await (const part of result.stream ?? result.fullStream) {
      if (part.type === "tool-result") seen.push([part.preliminary ?? false, part.output.text]);
    }
    assert.deepEqual(seen, [
      [true, "1 of 2"],
      [true, "2 of 2"],
      [true, "done"],
      [false, "done"],
    ]);
  });

  test(`AI SDK ${version}: cancellation`, (t) =>
    assertCancels(t, async (tools, calls, abortSignal, options) => {
      const model = await anthropicModel(t, calls);
      await ai.generateText(going(model, tools.aiSdk(options), { abortSignal }));
    }));

  test(`AI SDK ${version}: the model gets the error of a crash`, async (t) => {
    const { model, ended } = await crashed(t, anthropicModel, (tools, model, options) =>
      ai.generateText(going(model, tools.aiSdk(options))),
    );
    assert.equal(ended, "the model went on");
    const [text] = anthropicResults(model)["call_9"].content;
    assert.match(text, new RegExp(`${CRASH}$`));
  });
}
