// Tools for the Vercel AI SDK, version 5 and newer.

import type { AdapterOptions, Client } from "../client.js";
import { type Offered, offered, unlessError } from "../offered.js";
import type { ImageContent, ToolResult, ToolUpdate } from "../types.js";

/** A tool of `generateText` and `streamText` (AI SDK 5 and newer). */
export interface AiSdkTool {
  description: string;
  inputSchema: any;
  execute(
    input: any,
    options: { toolCallId: string; abortSignal?: AbortSignal },
  ): AsyncGenerator<ToolResult, void>;
  toModelOutput(options: any): any;
}

export function aiSdkTools(client: Client, options: AdapterOptions): Record<string, AiSdkTool> {
  return Object.fromEntries(offered(client, options).map((tool) => [tool.alias, aiSdkTool(tool)]));
}

function aiSdkTool(tool: Offered): AiSdkTool {
  // AI SDK 7 and newer have `context` where older versions have `experimental_context`.
  let takesFiles = true;
  return {
    description: tool.info.description,
    // The mark of schemas that `jsonSchema()` of the AI SDK makes.
    inputSchema: {
      [Symbol.for("vercel.ai.schema")]: true,
      [Symbol.for("vercel.ai.validator")]: true,
      _type: undefined,
      jsonSchema: tool.schema,
      // haft checks the arguments.
      validate: (value: unknown) => ({ success: true, value }),
    },
    execute(input, execution) {
      takesFiles = "context" in execution;
      return aiSdkCall(tool, input, execution);
    },
    toModelOutput(given) {
      // AI SDK 5 gives the output itself, newer ones give `{toolCallId, input, output}`.
      if (Array.isArray(given?.content)) return aiSdkOutput(given, aiSdk5Image);
      return aiSdkOutput(given.output, takesFiles ? aiSdk7Image : aiSdk6Image);
    },
  };
}

/** Yields the updates of a call as preliminary results, and its result as the last value. */
async function* aiSdkCall(
  tool: Offered,
  input: unknown,
  { toolCallId, abortSignal }: { toolCallId: string; abortSignal?: AbortSignal },
): AsyncGenerator<ToolResult, void> {
  const updates: ToolUpdate[] = [];
  let wake = () => {};
  const call = tool.call(input, {
    signal: abortSignal,
    callId: toolCallId,
    onUpdate: (update) => {
      updates.push(update);
      wake();
    },
  });
  let isDone = false;
  const finish = () => {
    isDone = true;
    wake();
  };
  call.then(finish, finish);
  while (!isDone || updates.length > 0) {
    const update = updates.shift();
    if (update !== undefined) yield preliminary(update);
    else {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }
  yield unlessError(tool, await call);
}

function preliminary(update: ToolUpdate): ToolResult {
  const text = update.content.map((block) => (block.type === "text" ? block.text : "")).join("\n");
  return { ...update, isError: update.isError ?? false, durationMs: 0, text };
}

function aiSdkOutput(result: ToolResult, imagePart: (image: ImageContent) => object): any {
  const { content } = result;
  if (result.isError) return { type: "error-text", value: result.text };
  if (content.every((block) => block.type === "text")) return { type: "text", value: result.text };
  const value = content.map((block) =>
    block.type === "text" ? { type: "text", text: block.text } : imagePart(block),
  );
  return { type: "content", value };
}

const aiSdk5Image = ({ data, mimeType }: ImageContent) => ({
  type: "media",
  data,
  mediaType: mimeType,
});
const aiSdk6Image = ({ data, mimeType }: ImageContent) => ({
  type: "image-data",
  data,
  mediaType: mimeType,
});
const aiSdk7Image = ({ data, mimeType }: ImageContent) => ({
  type: "file",
  data: { type: "data", data },
  mediaType: mimeType,
});
