// OpenAI's Responses: Codex.

import { Conversation, json, stream } from "./turn.mjs";

export const name = "responses";

export const serves = (method, path) => method === "POST" && path === "/v1/responses";

export function other(method, path) {
  if (method === "GET" && path === "/v1/models") return { object: "list", data: [] };
  return undefined;
}

export function read(raw) {
  const conversation = new Conversation();
  conversation.system.push(raw.instructions ?? "");
  const items = typeof raw.input === "string" ? [{ role: "user", content: raw.input }] : raw.input;
  for (const item of items) {
    if (item.type === "function_call_output") conversation.results.push(result(item.output));
    else if (item.role === "system" || item.role === "developer")
      conversation.system.push(...texts(item.content));
    else if (item.role === "user") for (const text of texts(item.content)) conversation.user(text);
  }
  return { ...conversation.turn(), tools: tools(raw.tools ?? []), streams: raw.stream === true };
}

export function answer(response, turn, step) {
  const item =
    step.say === undefined
      ? {
          type: "function_call",
          id: `fc_${step.id}`,
          call_id: `call_${step.id}`,
          name: step.call.own,
          ...(step.call.group === undefined ? {} : { namespace: step.call.group }),
          arguments: JSON.stringify(step.arguments),
          status: "completed",
        }
      : {
          type: "message",
          id: `msg_${step.id}`,
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: step.say, annotations: [] }],
        };
  const whole = {
    id: `resp_${step.id}`,
    object: "response",
    created_at: 0,
    status: "completed",
    model: turn.raw.model,
    output: [item],
    usage: {
      input_tokens: 100,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 10,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 110,
    },
  };
  if (!turn.streams) {
    json(response, whole);
    return;
  }
  const begun = { ...whole, status: "in_progress", output: [], usage: null };
  const events = [
    { type: "response.created", response: begun },
    {
      type: "response.output_item.added",
      output_index: 0,
      item: { ...item, status: "in_progress" },
    },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: whole },
  ];
  stream(
    response,
    events.map((event, index) => [event.type, { ...event, sequence_number: index }]),
  );
}

function tools(offered) {
  return offered.flatMap((tool) => {
    if (tool.type === "function") return [plain(tool)];
    if (tool.type !== "namespace") return [];
    const about = tool.description ?? "";
    return tool.tools.map((inner) => ({
      ...plain(inner),
      name: `${tool.name}.${inner.name}`,
      group: tool.name,
      about,
    }));
  });
}

const plain = (tool) => ({
  name: tool.name,
  own: tool.name,
  description: tool.description ?? "",
  schema: tool.parameters,
});

function result(output) {
  const images = parts(output).filter(({ type }) => type === "input_image");
  return {
    text: texts(output).join("\n"),
    images: images.map(({ image_url }) => /^data:([^;]+)/.exec(image_url)?.[1] ?? image_url),
    // The dialect has no mark for it.
    isError: false,
  };
}

const parts = (content) =>
  typeof content === "string" ? [{ type: "input_text", text: content }] : (content ?? []);

const texts = (content) =>
  parts(content)
    .filter(({ type }) => type === "input_text" || type === "output_text" || type === "text")
    .map(({ text }) => text);
