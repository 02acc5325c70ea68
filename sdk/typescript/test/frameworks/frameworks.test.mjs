// Each adapter with its real framework: a fake model asks for tools and gets text, image and error.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import Anthropic from "@anthropic-ai/sdk";
import { ChatAnthropic } from "@langchain/anthropic";
import { Agent, OpenAIProvider, Runner, setTracingDisabled } from "@openai/agents";
import { generateText, isStepCount, streamText } from "ai";
import { createAgent, tool } from "langchain";
import OpenAI from "openai";

import { haft } from "../../dist/index.mjs";
import { fakeModel, PNG, place, started } from "../harness.mjs";

setTracingDisabled(true);
// They concern the fake model; deprecated forms are a failure of the adapter.
globalThis.AI_SDK_LOG_WARNINGS = ({ warnings }) => {
  const deprecated = warnings.filter(({ type }) => type === "deprecated");
  assert.deepEqual(deprecated, []);
};

/** The calls that the fake models make, all in one turn, and one that waits. */
const CALLS = [
  { id: "call_1", name: "add", input: { a: 1, b: 2 } },
  { id: "call_2", name: "picture", input: {} },
  { id: "call_3", name: "fail", input: {} },
];
const wait = (mark) => [{ id: "call_9", name: "wait", input: { mark } }];
const count = [{ id: "call_8", name: "count", input: { to: 2 } }];

// ---- Fake models: the first turn asks for the calls, the second one ends. ----

function anthropicMessage(calls) {
  return {
    id: calls ? "msg_1" : "msg_2",
    type: "message",
    role: "assistant",
    model: "fake",
    content: calls
      ? calls.map((call) => ({ type: "tool_use", ...call }))
      : [{ type: "text", text: "finished" }],
    stop_reason: calls ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
}

function anthropicStream(response, message) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (event) =>
    response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  send({ type: "message_start", message: { ...message, content: [], stop_reason: null } });
  message.content.forEach((block, index) => {
    const isText = block.type === "text";
    const content_block = isText ? { ...block, text: "" } : { ...block, input: {} };
    const delta = isText
      ? { type: "text_delta", text: block.text }
      : { type: "input_json_delta", partial_json: JSON.stringify(block.input) };
    send({ type: "content_block_start", index, content_block });
    send({ type: "content_block_delta", index, delta });
    send({ type: "content_block_stop", index });
  });
  send({
    type: "message_delta",
    delta: { stop_reason: message.stop_reason },
    usage: message.usage,
  });
  send({ type: "message_stop" });
  response.end();
}

const anthropicModel = (t, calls) =>
  fakeModel(t, (body, _path, response) => {
    const isAnswered = JSON.stringify(body.messages).includes("tool_result");
    const message = anthropicMessage(isAnswered ? undefined : calls);
    if (body.stream !== true) return message;
    anthropicStream(response, message);
  });

const chatModel = (t, calls) =>
  fakeModel(t, (body) => {
    const isAnswered = body.messages.some((message) => message.role === "tool");
    const tool_calls = calls.map(({ id, name, input }) => ({
      id,
      type: "function",
      function: { name, arguments: JSON.stringify(input) },
    }));
    const message = isAnswered ? { content: "finished" } : { content: null, tool_calls };
    const finish_reason = isAnswered ? "stop" : "tool_calls";
    return {
      id: "chat_1",
      object: "chat.completion",
      created: 1,
      model: "fake",
      choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    };
  });

const responsesModel = (t, calls) =>
  fakeModel(t, (body) => {
    const isAnswered = JSON.stringify(body.input).includes("function_call_output");
    const text = { type: "output_text", text: "finished", annotations: [] };
    return {
      id: "resp_1",
      object: "response",
      created_at: 1,
      model: "fake",
      status: "completed",
      output: isAnswered
        ? [{ id: "m1", type: "message", role: "assistant", status: "completed", content: [text] }]
        : calls.map(({ id, name, input }) => ({
            id: `fc_${id}`,
            type: "function_call",
            status: "completed",
            call_id: id,
            name,
            arguments: JSON.stringify(input),
          })),
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    };
  });

// ---- What the model got. ----

/** Results in the second request of an Anthropic model, by the id of the call. */
function anthropicResults({ requests }) {
  const blocks = requests[1].messages.flatMap(({ content }) => content);
  const results = blocks.filter((block) => block.type === "tool_result");
  return Object.fromEntries(
    results.map(({ tool_use_id, content, is_error }) => {
      const list = typeof content === "string" ? [{ type: "text", text: content }] : content;
      const plain = list.map(({ type, text, source }) => (type === "text" ? text : source));
      return [tool_use_id, { content: plain, isError: is_error === true }];
    }),
  );
}

const SOURCE = { type: "base64", media_type: "image/png", data: PNG };

/** Results that an Anthropic model must get. How it gets the error depends on the framework. */
function assertAnthropic(model, error, isError = true) {
  const results = anthropicResults(model);
  assert.deepEqual(results["call_1"], { content: ["3"], isError: false });
  assert.deepEqual(results["call_2"], { content: ["a pixel", SOURCE], isError: false });
  assert.deepEqual(results["call_3"], { content: [error], isError });
  const add = model.requests[0].tools.find(({ name }) => name === "add");
  assert.deepEqual(add.description, "Tests add");
  assert.deepEqual(add.input_schema.required, ["a", "b"]);
}

/** Runs `call` with a signal, aborts it when the tool runs, and waits until the tool has stopped. */
async function assertCancels(t, run) {
  const tools = await started(t, haft);
  const mark = join(place(t).root, "mark");
  const controller = new AbortController();
  const onUpdate = () => controller.abort();
  const ended = run(tools, wait(mark), controller.signal, { onUpdate });
  await assert.rejects(ended);
  await tools.close();
  assert.ok(existsSync(mark), "the tool was not cancelled");
}

// ---- Vercel AI SDK ----

const aiModel = ({ url }) => createAnthropic({ baseURL: url, apiKey: "k" })("fake");

test("aiSdk: text, image, error", async (t) => {
  const tools = await started(t, haft);
  const model = await anthropicModel(t, CALLS);
  const result = await generateText({
    model: aiModel(model),
    tools: tools.aiSdk(),
    stopWhen: isStepCount(3),
    prompt: "go",
  });
  assert.equal(result.text, "finished");
  assertAnthropic(model, "Error: not today");
  const [first] = result.steps;
  const kinds = first.content.map((part) => part.type).filter((type) => type !== "tool-call");
  assert.deepEqual(kinds, ["tool-result", "tool-result", "tool-error"]);
});

test("aiSdk: updates are preliminary results", async (t) => {
  const tools = await started(t, haft);
  const model = await anthropicModel(t, count);
  const result = streamText({
    model: aiModel(model),
    tools: tools.aiSdk(),
    stopWhen: isStepCount(3),
    prompt: "go",
  });
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

test("aiSdk: cancellation", (t) =>
  assertCancels(t, async (tools, calls, abortSignal, options) => {
    const model = aiModel(await anthropicModel(t, calls));
    const stopWhen = isStepCount(3);
    await generateText({ model, tools: tools.aiSdk(options), stopWhen, prompt: "go", abortSignal });
  }));

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
  const client = openai(model);
  const input = [{ role: "user", content: "go" }];
  const request = () =>
    client.responses.create({ model: "fake", tools: tools.openaiResponses(), input });
  const first = await request();
  const calls = first.output.filter((item) => item.type === "function_call");
  input.push(...calls, ...(await Promise.all(calls.map((call) => tools.runOpenai(call)))));
  assert.equal((await request()).output_text, "finished");
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

test("a crash of haft ends a run with an error", async (t) => {
  const tools = await started(t, haft);
  const model = await anthropicModel(t, [{ id: "call_1", name: "wait", input: {} }]);
  const onUpdate = () => process.kill(tools.pid, "SIGKILL");
  const runner = claude(model).beta.messages.toolRunner({
    model: "fake",
    max_tokens: 100,
    tools: tools.anthropic({ onUpdate }),
    messages,
  });
  await runner.runUntilDone();
  assert.deepEqual(anthropicResults(model)["call_1"], {
    content: ["Error: haft rpc ended by SIGKILL"],
    isError: true,
  });
});
