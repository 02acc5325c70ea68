// Fake models on the loopback interface, in the protocols of Anthropic and OpenAI, and what they must get.

import assert from "node:assert/strict";

import { fakeModel, PNG } from "./harness.mjs";

/** The calls that the fake models make, all in one turn, and one that waits. */
export const CALLS = [
  { id: "call_1", name: "add", input: { a: 1, b: 2 } },
  { id: "call_2", name: "picture", input: {} },
  { id: "call_3", name: "fail", input: {} },
];
export const wait = (mark) => [{ id: "call_9", name: "wait", input: { mark } }];
export const count = [{ id: "call_8", name: "count", input: { to: 2 } }];

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

export const anthropicModel = (t, calls) =>
  fakeModel(t, (body, path, response) => {
    // Agents also ask for titles, and look whether the server is there.
    const isTurn = path.includes("/messages") && body.tools?.some((tool) => isNamed(tool, calls));
    const isAnswered = JSON.stringify(body.messages ?? "").includes("tool_result");
    const message = anthropicMessage(isTurn && !isAnswered ? calls : undefined);
    if (body.stream !== true) return message;
    anthropicStream(response, message);
  });

const isNamed = (tool, calls) => calls.some(({ name }) => name === tool.name);

export const chatModel = (t, calls) =>
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

export const responsesModel = (t, calls) =>
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

/** Results in the requests of an Anthropic model, by the id of the call. */
export function anthropicResults({ requests }) {
  const blocks = requests.flatMap(({ messages = [] }) =>
    messages.flatMap(({ content }) => content),
  );
  const results = blocks.filter((block) => block.type === "tool_result");
  return Object.fromEntries(
    results.map(({ tool_use_id, content, is_error }) => {
      const list = typeof content === "string" ? [{ type: "text", text: content }] : content;
      const plain = list.map(({ type, text, source }) =>
        type === "text" ? ownText(text) : source,
      );
      return [tool_use_id, { content: plain, isError: is_error === true }];
    }),
  );
}

/** Removes what Claude Code adds to results. */
const ownText = (text) => text.replace(/\n\n<system-reminder>.*/s, "");

const SOURCE = { type: "base64", media_type: "image/png", data: PNG };

/** Results that an Anthropic model must get. How it gets the error depends on the framework. */
export function assertAnthropic(model, error, isError = true) {
  const results = anthropicResults(model);
  assert.deepEqual(results["call_1"], { content: ["3"], isError: false });
  assert.deepEqual(results["call_2"], { content: ["a pixel", SOURCE], isError: false });
  assert.deepEqual(results["call_3"], { content: [error], isError });
  const tools = model.requests.flatMap(({ tools = [] }) => tools);
  const add = tools.find(({ name }) => name.endsWith("add"));
  assert.deepEqual(add.description, "Tests add");
  // oh-my-pi adds a parameter of its own.
  assert.deepEqual(add.input_schema.required.slice(0, 2), ["a", "b"]);
}
