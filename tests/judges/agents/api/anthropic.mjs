// Anthropic's Messages: Claude Code, and opencode with its Anthropic provider.

import { Conversation, json, stream } from "./turn.mjs";

export const name = "anthropic";

export const serves = (method, path) => method === "POST" && path === "/v1/messages";

/** Other requests of clients: the token count of a text, and a check of reachability. */
export function other(method, path) {
  if (method === "POST" && path === "/v1/messages/count_tokens") return { input_tokens: 100 };
  if (method === "HEAD" && path === "/") return {};
  return undefined;
}

export function read(raw) {
  const conversation = new Conversation();
  conversation.system.push(...texts(raw.system));
  for (const { role, content } of raw.messages) {
    if (role === "system") conversation.system.push(...texts(content));
    if (role !== "user") continue;
    for (const block of blocks(content)) {
      if (block.type === "text") conversation.user(block.text);
      if (block.type === "tool_result") conversation.results.push(result(block));
    }
  }
  const tools = (raw.tools ?? []).map((tool) => ({
    name: tool.name,
    description: tool.description ?? "",
    schema: tool.input_schema,
  }));
  return { ...conversation.turn(), tools, streams: raw.stream === true };
}

export function answer(response, turn, step) {
  const block =
    step.say === undefined
      ? { type: "tool_use", id: `toolu_${step.id}`, name: step.call.name, input: step.arguments }
      : { type: "text", text: step.say };
  const message = {
    id: `msg_${step.id}`,
    type: "message",
    role: "assistant",
    model: turn.raw.model,
    content: [block],
    stop_reason: step.say === undefined ? "tool_use" : "end_turn",
    stop_sequence: null,
    usage: { input_tokens: 100, output_tokens: 10 },
  };
  if (turn.streams) stream(response, events(message, block));
  else json(response, message);
}

function events(message, block) {
  const { stop_reason, stop_sequence, usage } = message;
  const [empty, delta] =
    block.type === "text"
      ? [
          { type: "text", text: "" },
          { type: "text_delta", text: block.text },
        ]
      : [
          { ...block, input: {} },
          { type: "input_json_delta", partial_json: JSON.stringify(block.input) },
        ];
  const begun = { ...message, content: [], stop_reason: null };
  return [
    { type: "message_start", message: begun },
    { type: "content_block_start", index: 0, content_block: empty },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason, stop_sequence }, usage },
    { type: "message_stop" },
  ].map((event) => [event.type, event]);
}

function result(block) {
  const parts = blocks(block.content);
  return {
    text: texts(block.content).join("\n"),
    images: parts.filter(({ type }) => type === "image").map(({ source }) => source.media_type),
    isError: block.is_error === true,
  };
}

const blocks = (content) =>
  typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);

const texts = (content) =>
  blocks(content)
    .filter(({ type }) => type === "text")
    .map(({ text }) => text);
