// The fake model API by itself, in each dialect: it plays a script and records what came.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { FakeApi, prompt } from "../api/server.mjs";

let api;
before(async () => {
  api = await FakeApi.start();
  api.script("greet", [{ call: "greet", arguments: { name: "Ada" } }, { say: "Greeted." }]);
});
after(() => api.stop());

const SCHEMA = { type: "object", properties: { name: { type: "string" } } };
const PIXEL = "iVBORw0KGgo=";

async function post(run, path, body) {
  const headers = { "content-type": "application/json" };
  const response = await fetch(api.url(run) + path, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  return { status: response.status, text: await response.text() };
}

const events = (text) =>
  text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice("data: ".length)));

test("Anthropic's Messages", async () => {
  const body = {
    model: "any",
    stream: true,
    system: [{ type: "text", text: "Be good." }],
    tools: [{ name: "mcp__haft__greet", description: "Greets.", input_schema: SCHEMA }],
    messages: [{ role: "user", content: prompt("greet") }],
  };
  const [start, block, delta] = events((await post("anthropic", "/v1/messages", body)).text);
  assert.equal(start.type, "message_start");
  assert.equal(block.content_block.name, "mcp__haft__greet");
  assert.equal(delta.delta.partial_json, '{"name":"Ada"}');

  const { id } = block.content_block;
  const source = { type: "base64", media_type: "image/png", data: PIXEL };
  const content = [
    { type: "text", text: "Hello" },
    { type: "image", source },
  ];
  body.messages.push(
    { role: "assistant", content: [{ type: "tool_use", id, name: "mcp__haft__greet", input: {} }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: id, content, is_error: true }] },
  );
  const second = { ...body, stream: false };
  const answer = JSON.parse((await post("anthropic", "/v1/messages", second)).text);
  assert.deepEqual(answer.content, [{ type: "text", text: "Greeted." }]);
  assert.notEqual(answer.id, start.message.id);

  const [first, last] = api.of("anthropic", "greet");
  assert.equal(first.system, "Be good.");
  assert.deepEqual(first.results, []);
  assert.deepEqual(last.results, [{ text: "Hello", images: ["image/png"], isError: true }]);
});

test("OpenAI's Responses, with a namespace", async () => {
  const greet = { type: "function", name: "greet", description: "Greets.", parameters: SCHEMA };
  const user = {
    type: "message",
    role: "user",
    content: [{ type: "input_text", text: prompt("greet") }],
  };
  const body = {
    model: "any",
    stream: true,
    instructions: "Be good.",
    tools: [
      { type: "namespace", name: "mcp__haft", description: "Tools of haft.", tools: [greet] },
    ],
    input: [user],
  };
  const called = events((await post("responses", "/v1/responses", body)).text);
  const { item } = called.find(({ type }) => type === "response.output_item.done");
  assert.deepEqual(
    [item.namespace, item.name, item.arguments],
    ["mcp__haft", "greet", '{"name":"Ada"}'],
  );
  assert.equal(called.at(-1).type, "response.completed");

  const output = [
    { type: "input_text", text: "Hello" },
    { type: "input_image", image_url: `data:image/png;base64,${PIXEL}` },
  ];
  body.input.push(item, { type: "function_call_output", call_id: item.call_id, output });
  const ended = events((await post("responses", "/v1/responses", body)).text);
  assert.equal(ended.at(-1).response.output[0].content[0].text, "Greeted.");

  const [first, last] = api.of("responses", "greet");
  assert.equal(first.tools[0].about, "Tools of haft.");
  assert.deepEqual(last.results, [{ text: "Hello", images: ["image/png"], isError: false }]);
});

test("Google's generateContent", async () => {
  const declared = { name: "mcp_haft_greet", description: "Greets.", parametersJsonSchema: SCHEMA };
  const body = {
    tools: [{ functionDeclarations: [declared] }],
    contents: [{ role: "user", parts: [{ text: prompt("greet") }] }],
  };
  const path = "/v1beta/models/any:streamGenerateContent?alt=sse";
  const [called] = events((await post("gemini", path, body)).text);
  const [part] = called.candidates[0].content.parts;
  assert.deepEqual(part.functionCall.args, { name: "Ada" });

  const functionResponse = { name: "mcp_haft_greet", response: { error: "No such name" } };
  body.contents.push(
    { role: "model", parts: [part] },
    { role: "user", parts: [{ functionResponse }] },
  );
  const second = await post("gemini", "/v1beta/models/any:generateContent", body);
  assert.equal(JSON.parse(second.text).candidates[0].content.parts[0].text, "Greeted.");
  const [, last] = api.of("gemini", "greet");
  assert.deepEqual(last.results, [{ text: "No such name", images: [], isError: true }]);
});

test("what a script cannot play is said to the model", async () => {
  const body = { model: "any", tools: [], messages: [{ role: "user", content: prompt("greet") }] };
  const { text } = await post("lacking", "/v1/messages", body);
  assert.equal(JSON.parse(text).content[0].text, "There is no tool greet. Greeted.");
  // Requests without tools are for titles, not for the script.
  assert.deepEqual(api.of("lacking", "greet"), []);
  assert.equal((await post("lacking", "/v1/unknown", {})).status, 404);
  assert.deepEqual(api.unknown, ["POST /v1/unknown"]);
});

test("waiting ends with what came, or with an error", async () => {
  const find = () => api.of("waiting", "greet")[0];
  const waiting = api.until(find, 5_000, "a request");
  const tools = [{ name: "greet", input_schema: SCHEMA }];
  const messages = [{ role: "user", content: prompt("greet") }];
  await post("waiting", "/v1/messages", { model: "any", tools, messages });
  assert.equal((await waiting).run, "waiting");
  await assert.rejects(
    api.until(() => undefined, 1, "nothing"),
    /nothing: not within 1 ms/,
  );
});
