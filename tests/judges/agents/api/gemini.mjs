// Google's generateContent and streamGenerateContent: Gemini CLI.

import { Conversation, json, stream } from "./turn.mjs";

export const name = "gemini";

const MODEL = /^\/v1(?:beta|alpha)?\/models\/([^:]+):(generateContent|streamGenerateContent)$/;

export const serves = (method, path) => method === "POST" && MODEL.test(path);

export function other(method, path) {
  if (method === "POST" && path.endsWith(":countTokens")) return { totalTokens: 100 };
  return undefined;
}

export function read(raw, path) {
  const [, model, verb] = MODEL.exec(path);
  const conversation = new Conversation();
  conversation.system.push(...texts(raw.systemInstruction?.parts));
  for (const { role, parts } of raw.contents ?? []) {
    if (role === "model") continue;
    for (const part of parts ?? []) {
      if (part.text !== undefined && !part.thought) conversation.user(part.text);
      if (part.functionResponse) conversation.results.push(result(part.functionResponse));
      // A picture stands beside the response that it belongs to.
      if (part.inlineData) conversation.results.at(-1)?.images.push(part.inlineData.mimeType);
    }
  }
  const declared = (raw.tools ?? []).flatMap((tool) => tool.functionDeclarations ?? []);
  const tools = declared.map((tool) => ({
    name: tool.name,
    description: tool.description ?? "",
    schema: tool.parametersJsonSchema ?? tool.parameters,
  }));
  return { ...conversation.turn(), model, tools, streams: verb === "streamGenerateContent" };
}

export function answer(response, turn, step) {
  const part =
    step.say === undefined
      ? { functionCall: { id: `call_${step.id}`, name: step.call.name, args: step.arguments } }
      : { text: step.say };
  const whole = {
    candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 },
    modelVersion: turn.model,
    responseId: step.id,
  };
  if (turn.streams) stream(response, [[undefined, whole]]);
  else json(response, whole);
}

function result({ response, parts }) {
  const said = response?.output ?? response?.error ?? response?.content ?? response;
  const data = (parts ?? []).filter((part) => part.inlineData);
  return {
    text: typeof said === "string" ? said : JSON.stringify(said),
    images: data.map((part) => part.inlineData.mimeType),
    isError: response?.error !== undefined,
  };
}

const texts = (parts) => (parts ?? []).flatMap(({ text }) => (text === undefined ? [] : [text]));
