// Tools for the OpenAI SDK, and for the OpenAI Agents SDK.

import type { AdapterOptions, Client } from "../client.js";
import { type Offered, offered } from "../offered.js";
import type { Content, ImageContent, ToolResult } from "../types.js";

/** A tool of `chat.completions.create` and `chat.completions.runTools`. */
export interface OpenAiChatTool {
  type: "function";
  function: {
    name: string;
    description: string;
    parameters: Record<string, unknown>;
    parse(input: string): any;
    function(args: any, runner?: any): Promise<string>;
  };
}

/** A tool of `responses.create`. */
export interface OpenAiResponsesTool {
  type: "function";
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  strict: false;
}

/** A tool call of a model: an item of `response.output`, or one of `message.tool_calls`. */
export type OpenAiCall =
  | { type?: "function_call" | undefined; call_id: string; name: string; arguments: string }
  | { type?: "function" | undefined; id: string; function: { name: string; arguments: string } };

export interface OpenAiFunctionOutput {
  type: "function_call_output";
  call_id: string;
  output:
    | string
    | (
        | { type: "input_text"; text: string }
        | { type: "input_image"; image_url: string; detail: "auto" }
      )[];
}

export interface OpenAiToolMessage {
  role: "tool";
  tool_call_id: string;
  content: string;
}

export function openAiChatTools(client: Client, options: AdapterOptions): OpenAiChatTool[] {
  return offered(client, options).map((tool) => ({
    type: "function",
    function: {
      name: tool.alias,
      description: tool.info.description,
      parameters: tool.schema,
      parse: parsed,
      function: async (args, runner) => {
        const signal: AbortSignal | undefined = runner?.controller?.signal;
        return chatText(await tool.call(args, { signal }));
      },
    },
  }));
}

export function openAiResponsesTools(
  client: Client,
  options: AdapterOptions,
): OpenAiResponsesTool[] {
  return offered(client, options).map(declaration);
}

/** Returns what the Responses API and the Agents SDK both call a function tool. */
function declaration(tool: Offered): OpenAiResponsesTool {
  return {
    type: "function",
    name: tool.alias,
    description: tool.info.description,
    parameters: tool.schema,
    strict: false,
  };
}

/** Runs a tool call of an OpenAI model and returns what the next request must contain. */
export async function runOpenAi(
  client: Client,
  call: OpenAiCall,
  options: AdapterOptions & { signal?: AbortSignal },
): Promise<OpenAiFunctionOutput | OpenAiToolMessage> {
  const isChat = "function" in call;
  const { name, arguments: text } = isChat ? call.function : call;
  const id = isChat ? call.id : call.call_id;
  const result = await runNamed(client, name, text, id, options);
  if (isChat) return { role: "tool", tool_call_id: id, content: chatText(result) };
  const hasImages = result.content.some((block) => block.type === "image");
  const output = hasImages ? result.content.map(openAiInput) : errorText(result);
  return { type: "function_call_output", call_id: id, output };
}

async function runNamed(
  client: Client,
  name: string,
  text: string,
  callId: string,
  options: AdapterOptions & { signal?: AbortSignal },
): Promise<ToolResult> {
  const tool = offered(client, options).find(({ alias }) => alias === name);
  if (tool === undefined) return failed(`there is no tool \`${name}\``);
  let args: unknown;
  try {
    args = parsed(text);
  } catch (error) {
    return failed(`the arguments are not valid JSON: ${(error as Error).message}`);
  }
  return await tool.call(args, { signal: options.signal, callId });
}

function failed(text: string): ToolResult {
  return { content: [{ type: "text", text }], details: {}, isError: true, durationMs: 0, text };
}

function parsed(text: string): any {
  return text.trim() === "" ? {} : JSON.parse(text);
}

function openAiInput(block: Content): any {
  if (block.type === "text") return { type: "input_text", text: block.text };
  return { type: "input_image", image_url: dataUrl(block), detail: "auto" };
}

export function dataUrl({ mimeType, data }: ImageContent): string {
  return `data:${mimeType};base64,${data}`;
}

/** Messages of the role `tool` have only text, so an image is described. */
function chatText(result: ToolResult): string {
  return errorText({
    ...result,
    text: result.content
      .map((block) => (block.type === "text" ? block.text : describedImage(block)))
      .join("\n"),
  });
}

function describedImage({ mimeType, data }: ImageContent): string {
  const bytes = Math.floor((data.replace(/=+$/, "").length * 3) / 4);
  return `[image ${mimeType}, ${bytes} bytes]`;
}

/** Marks a failure in the text, for results without a flag. */
function errorText({ isError, text }: ToolResult): string {
  return isError ? `Error: ${text}` : text;
}

export type AgentsOutput =
  | { type: "text"; text: string }
  | { type: "image"; image: { data: string; mediaType: string } };

/** A function tool of `@openai/agents`. */
export interface AgentsTool {
  type: "function";
  name: string;
  description: string;
  parameters: any;
  strict: false;
  needsApproval(): Promise<boolean>;
  isEnabled(): Promise<boolean>;
  invoke(
    context: any,
    input: string,
    details?: { signal?: AbortSignal; toolCall?: any },
  ): Promise<string | AgentsOutput[]>;
}

export function agentsTools(client: Client, options: AdapterOptions): AgentsTool[] {
  return offered(client, options).map((tool) => ({
    ...declaration(tool),
    needsApproval: async () => false,
    isEnabled: async () => true,
    invoke: async (_context, input, details) => {
      const callId: string | undefined = details?.toolCall?.callId;
      const run = { ...options, signal: details?.signal };
      const result = await runNamed(client, tool.alias, input, callId ?? "", run);
      if (result.content.every((block) => block.type === "text")) return errorText(result);
      return result.content.map((block) =>
        block.type === "text"
          ? { type: "text", text: block.text }
          : { type: "image", image: { data: block.data, mediaType: block.mimeType } },
      );
    },
  }));
}
