// The adapters with their real frameworks: a fake model asks for tools and gets text, image and error.

import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { ChatAnthropic } from "@langchain/anthropic";
import { Agent, OpenAIProvider, Runner, setTracingDisabled } from "@openai/agents";
import { createAgent, tool } from "langchain";
import OpenAI from "openai";

import { haft } from "../../dist/index.mjs";
import {
  anthropicModel,
  anthropicResults,
  assertAnthropic,
  CALLS,
  chatModel,
  responsesModel,
} from "../fake_models.mjs";
import { PNG, started } from "../harness.mjs";
import { assertCancels, CRASH, crashed } from "./runs.mjs";

setTracingDisabled(true);

// ---- Anthropic SDK ----

const messages = [{ role: "user", content: "go" }];
const claude = ({ url }) => new Anthropic({ baseURL: url, apiKey: "k", maxRetries: 0 });

test("anthropic: text, image, error", async (t) => {
  const tools = await started(t, haft);
  const model = await anthropicModel(t, CALLS);
  const runner = claude(model).beta.messages.toolRunner({
    model: "fake",
    max_tokens: 100,
    tools: tools.anthropic(),
    messages,
  });
  const final = await runner.runUntilDone();
  assert.equal(final.content[0].text, "finished");
  assertAnthropic(model, "Error: not today");
});

test("anthropic: updates and cancellation", (t) =>
  assertCancels(t, async (tools, calls, signal, options) => {
    const client = claude(await anthropicModel(t, calls));
    const runner = client.beta.messages.toolRunner(
      { model: "fake", max_tokens: 100, tools: tools.anthropic(options), messages },
      { signal },
    );
    await runner.runUntilDone();
  }));

// ---- OpenAI SDK ----

const openai = ({ url }) => new OpenAI({ baseURL: url, apiKey: "k", maxRetries: 0 });

test("openai: runTools gets text, described images, errors", async (t) => {
  const tools = await started(t, haft);
  const model = await chatModel(t, CALLS);
  const runner = openai(model).chat.completions.runTools({
    model: "fake",
    tools: tools.openai(),
    messages,
  });
  assert.equal(await runner.finalContent(), "finished");
  const results = model.requests[1].messages.filter(({ role }) => role === "tool");
  assert.deepEqual(
    results.map(({ tool_call_id, content }) => [tool_call_id, content]),
    [
      ["call_1", "3"],
      ["call_2", "a pixel\n[image image/png, 70 bytes]"],
      ["call_3", "Error: not today"],
    ],
  );
});

test("openai: updates and cancellation", (t) =>
  assertCancels(t, async (tools, calls, signal, options) => {
    const client = openai(await chatModel(t, calls));
    const body = { model: "fake", tools: tools.openai(options), messages };
    await client.chat.completions.runTools(body, { signal }).finalContent();
  }));

test("openai: runOpenai answers calls of both APIs", async (t) => {
  const tools = await started(t, haft);
  const model = await responsesModel(t, CALLS);
  assert.equal(await converse(openai(model), tools), "finished");
  const outputs = model.requests[1].input.filter(({ type }) => type === "function_call_output");
  const image = { type: "input_image", image_url: `data:image/png;base64,${PNG}`, detail: "auto" };
  assert.deepEqual(
    outputs.map(({ output }) => output),
    ["3", [{ type: "input_text", text: "a pixel" }, image], "Error: not today"],
  );
  const chat = await tools.runOpenai({ id: "c", function: { name: "add", arguments: "{" } });
  assert.match(chat.content, /^Error: the arguments are not valid JSON/);
  assert.equal(
    (await tools.runOpenai({ call_id: "c", name: "x", arguments: "" })).output,
    "Error: there is no tool `x`",
  );
});

/** Runs a conversation of the Responses API to its end, as a program does. */
async function converse(client, tools, options = {}, signal = undefined) {
  const input = [{ role: "user", content: "go" }];
  for (;;) {
    const body = { model: "fake", tools: tools.openaiResponses(), input };
    const response = await client.responses.create(body, { signal });
    const calls = response.output.filter((item) => item.type === "function_call");
    if (calls.length === 0) return response.output_text;
    const outputs = calls.map((call) => tools.runOpenai(call, { ...options, signal }));
    input.push(...calls, ...(await Promise.all(outputs)));
  }
}

test("openai responses: updates and cancellation", (t) =>
  assertCancels(t, async (tools, calls, signal, options) =>
    converse(openai(await responsesModel(t, calls)), tools, options, signal),
  ));

// ---- OpenAI Agents SDK ----

const agentsRunner = (model) =>
  new Runner({
    modelProvider: new OpenAIProvider({ openAIClient: openai(model), useResponses: true }),
    tracingDisabled: true,
  });

test("agents: text, image, error", async (t) => {
  const tools = await started(t, haft);
  const model = await responsesModel(t, CALLS);
  const agent = new Agent({ name: "a", model: "fake", tools: tools.agents() });
  const result = await agentsRunner(model).run(agent, "go");
  assert.equal(result.finalOutput, "finished");
  const outputs = model.requests[1].input.filter(({ type }) => type === "function_call_output");
  const [add, picture, fail] = outputs.map(({ output }) => output);
  assert.deepEqual([add, fail], ["3", "Error: not today"]);
  assert.deepEqual(
    picture.map(({ type, text, image_url }) => [type, text ?? image_url]),
    [
      ["input_text", "a pixel"],
      ["input_image", `data:image/png;base64,${PNG}`],
    ],
  );
});

test("agents: updates and cancellation", (t) =>
  assertCancels(t, async (tools, calls, signal, options) => {
    const runner = agentsRunner(await responsesModel(t, calls));
    const agent = new Agent({ name: "a", model: "fake", tools: tools.agents(options) });
    await runner.run(agent, "go", { signal });
  }));

// ---- LangChain ----

const chatAnthropic = ({ url }) =>
  new ChatAnthropic({ model: "fake", apiKey: "k", anthropicApiUrl: url, maxRetries: 0 });

test("langchain: text, image, error", async (t) => {
  const tools = await started(t, haft);
  const model = await anthropicModel(t, CALLS);
  const agent = createAgent({ model: chatAnthropic(model), tools: tools.langchain(tool) });
  const { messages } = await agent.invoke({ messages: [{ role: "user", content: "go" }] });
  assert.equal(messages.at(-1).text, "finished");
  const added = messages.find((message) => message.name === "add");
  assert.deepEqual(added.artifact, { sum: 3 });
  const failed = messages.find((message) => message.name === "fail");
  assert.equal(failed.status, "error");
  // ChatAnthropic does not pass the status on.
  assertAnthropic(model, "Error: not today\n Please fix your mistakes.", false);
});

test("langchain: updates and cancellation", (t) =>
  assertCancels(t, async (tools, calls, signal, options) => {
    const model = chatAnthropic(await anthropicModel(t, calls));
    const agent = createAgent({ model, tools: tools.langchain(tool, options) });
    await agent.invoke({ messages: [{ role: "user", content: "go" }] }, { signal });
  }));

// ---- A crash of haft ----

test("anthropic: the model gets the error of a crash", async (t) => {
  const { model, ended } = await crashed(t, anthropicModel, (tools, model, options) => {
    const body = { model: "fake", max_tokens: 100, tools: tools.anthropic(options), messages };
    return claude(model).beta.messages.toolRunner(body).runUntilDone();
  });
  assert.equal(ended, "the model went on");
  const content = [`Error: ${CRASH}`];
  assert.deepEqual(anthropicResults(model)["call_9"], { content, isError: true });
});

test("langchain: the model gets the error of a crash", async (t) => {
  const { model, ended } = await crashed(t, anthropicModel, (tools, model, options) => {
    const agent = createAgent({
      model: chatAnthropic(model),
      tools: tools.langchain(tool, options),
    });
    return agent.invoke({ messages });
  });
  assert.equal(ended, "the model went on");
  assert.match(
    anthropicResults(model)["call_9"].content[0],
    /^HaftError: haft rpc ended by SIGKILL/,
  );
});

test("openai: the run rejects after a crash", async (t) => {
  const { ended } = await crashed(t, chatModel, (tools, model, options) => {
    const body = { model: "fake", tools: tools.openai(options), messages };
    return openai(model).chat.completions.runTools(body).finalContent();
  });
  assert.equal(ended, CRASH);
});

test("openai responses: the run rejects after a crash", async (t) => {
  const { ended } = await crashed(t, responsesModel, (tools, model, options) =>
    converse(openai(model), tools, options),
  );
  assert.equal(ended, CRASH);
});

test("agents: the run rejects after a crash", async (t) => {
  const { ended } = await crashed(t, responsesModel, (tools, model, options) => {
    const agent = new Agent({ name: "a", model: "fake", tools: tools.agents(options) });
    return agentsRunner(model).run(agent, "go");
  });
  assert.match(ended, new RegExp(CRASH));
});
