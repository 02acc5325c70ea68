// The tools in the shapes of agent frameworks. None of them is imported: the shapes are the interfaces that the
// frameworks document, and their type checkers accept them (test/frameworks/types.ts).

import type { AdapterOptions, Client } from "./client.js";
import { HaftError, ToolError } from "./errors.js";
import { type McpInstance, mcpServer } from "./mcp_server.js";
import { type Offered, offered } from "./offered.js";
import type { AskHandler, Content, ImageContent, Tier, ToolResult, ToolUpdate } from "./types.js";

/** Throws the text of a failed result, for frameworks that turn exceptions into error results. */
function unlessError(tool: Offered, result: ToolResult): ToolResult {
  if (result.isError) throw new ToolError(tool.info.name, result.text, result);
  return result;
}

// ---- Vercel AI SDK ----

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
  type: "file-data",
  data,
  mediaType: mimeType,
});
const aiSdk7Image = ({ data, mimeType }: ImageContent) => ({
  type: "file",
  data: { type: "data", data },
  mediaType: mimeType,
});

// ---- Anthropic SDK ----

type AnthropicMedia = "image/jpeg" | "image/png" | "image/gif" | "image/webp";

export type AnthropicBlock =
  | { type: "text"; text: string }
  | { type: "image"; source: { type: "base64"; media_type: AnthropicMedia; data: string } };

/** A tool of `client.beta.messages.toolRunner`, as `betaTool` makes it. */
export interface AnthropicTool {
  type: "custom";
  name: string;
  description: string;
  input_schema: {
    type: "object";
    properties?: unknown;
    required?: string[];
    [key: string]: unknown;
  };
  run(
    args: any,
    context?: { signal?: AbortSignal | null | undefined; toolUse?: { id: string } },
  ): Promise<AnthropicBlock[]>;
  parse(content: unknown): any;
}

export function anthropicTools(client: Client, options: AdapterOptions): AnthropicTool[] {
  return offered(client, options).map((tool) => ({
    type: "custom",
    name: tool.alias,
    description: tool.info.description,
    input_schema: { ...tool.schema, type: "object" as const },
    run: async (args, context) => {
      const { signal, toolUse } = context ?? {};
      const result = await tool.call(args, { signal, callId: toolUse?.id });
      return unlessError(tool, result).content.map(anthropicBlock);
    },
    parse: (content) => content,
  }));
}

function anthropicBlock(block: Content): AnthropicBlock {
  if (block.type === "text") return block;
  const source = {
    type: "base64" as const,
    media_type: block.mimeType as AnthropicMedia,
    data: block.data,
  };
  return { type: "image", source };
}

// ---- OpenAI SDK ----

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
  return offered(client, options).map((tool) => ({
    type: "function",
    name: tool.alias,
    description: tool.info.description,
    parameters: tool.schema,
    strict: false,
  }));
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

function dataUrl({ mimeType, data }: ImageContent): string {
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

// ---- OpenAI Agents SDK ----

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
    type: "function",
    name: tool.alias,
    description: tool.info.description,
    parameters: tool.schema,
    strict: false,
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

// ---- LangChain ----

/** `tool` of `langchain` or `@langchain/core/tools`. */
export type LangChainFactory<Tool> = (
  run: (args: any, config: any) => Promise<[any, any]>,
  fields: any,
) => Tool;

export function langChainTools<Tool>(
  client: Client,
  factory: LangChainFactory<Tool>,
  options: AdapterOptions,
): Tool[] {
  if (typeof factory !== "function") {
    const text = "langchain() needs the function `tool` of LangChain";
    throw new HaftError("usage", text, 'import { tool } from "langchain"; tools.langchain(tool)');
  }
  return offered(client, options).map((tool) =>
    factory(
      async (args, config) => {
        const call = { signal: config?.signal, callId: config?.toolCall?.id };
        const result = unlessError(tool, await tool.call(args, call));
        const hasImages = result.content.some((block) => block.type === "image");
        const content = hasImages ? result.content.map(langChainBlock) : result.text;
        return [content, result.details];
      },
      {
        name: tool.alias,
        description: tool.info.description,
        schema: tool.schema,
        responseFormat: "content_and_artifact",
      },
    ),
  );
}

function langChainBlock(block: Content): any {
  if (block.type === "text") return { type: "text", text: block.text };
  // The form that the integrations of all providers convert.
  return { type: "image_url", image_url: { url: dataUrl(block) } };
}

// ---- Claude Agent SDK ----

/** A server of the option `mcpServers` of `query`. */
export interface ClaudeAgentServer {
  type: "sdk";
  name: string;
  instance: any;
}

export function claudeAgentServer(
  client: Client,
  options: AdapterOptions & { name?: string },
): ClaudeAgentServer {
  const name = options.name ?? "haft";
  const instance: McpInstance = mcpServer(client, name, options);
  return { type: "sdk", name, instance };
}

// ---- pi and oh-my-pi ----

/** The part of a session's user interface that answers questions. */
interface PiUi {
  select(title: string, options: string[], dialog?: object): Promise<string | undefined>;
  confirm(title: string, message: string, dialog?: object): Promise<boolean>;
  input(title: string, placeholder?: string, dialog?: object): Promise<string | undefined>;
  editor(title: string, prefill?: string): Promise<string | undefined>;
}

interface PiContext {
  hasUI?: boolean;
  ui?: PiUi;
}

export interface PiResult {
  content: Content[];
  details: any;
}

/** A tool of `customTools` of pi's SDK. */
export interface PiTool {
  name: string;
  label: string;
  description: string;
  parameters: any;
  execute(
    toolCallId: string,
    params: any,
    signal: AbortSignal | undefined,
    onUpdate: ((update: PiResult) => void) | undefined,
    context: any,
  ): Promise<PiResult>;
}

/** A tool of `customTools` of oh-my-pi's SDK. */
export interface OmpTool {
  name: string;
  label: string;
  description: string;
  parameters: any;
  approval: Tier;
  loadMode: "essential";
  execute(
    toolCallId: string,
    params: any,
    onUpdate: ((update: PiResult) => void) | undefined,
    context: any,
    signal?: AbortSignal,
  ): Promise<PiResult>;
}

export function piTools(client: Client, options: AdapterOptions): PiTool[] {
  return offered(client, options).map((tool) => ({
    ...piParts(tool),
    execute: (callId, params, signal, onUpdate, context) =>
      piCall(tool, callId, params, signal, onUpdate, context),
  }));
}

export function ompTools(client: Client, options: AdapterOptions): OmpTool[] {
  return offered(client, options).map((tool) => ({
    ...piParts(tool),
    approval: tool.info.approval,
    // oh-my-pi would otherwise hide the tools behind its search for tools.
    loadMode: "essential",
    execute: (callId, params, onUpdate, context, signal) =>
      piCall(tool, callId, params, signal, onUpdate, context),
  }));
}

function piParts({ alias, info, schema }: Offered) {
  return { name: alias, label: info.label, description: info.description, parameters: schema };
}

async function piCall(
  tool: Offered,
  callId: string,
  params: unknown,
  signal: AbortSignal | undefined,
  onUpdate: ((update: PiResult) => void) | undefined,
  context: PiContext | undefined,
): Promise<PiResult> {
  const result = await tool.call(params, {
    signal,
    callId,
    onUpdate: ({ content, details }) => onUpdate?.({ content, details }),
    onAsk: context?.hasUI === true && context.ui ? askIn(context.ui) : undefined,
  });
  const { content, details } = unlessError(tool, result);
  return { content, details };
}

/** Answers questions in the user interface of pi's session. */
function askIn(ui: PiUi): AskHandler {
  return async ({ method, title, options, message, placeholder, prefill, signal, timeoutMs }) => {
    const dialog = { signal, timeout: timeoutMs };
    switch (method) {
      case "select":
        return await ui.select(title, options ?? [], dialog);
      case "confirm":
        return await ui.confirm(title, message ?? "", dialog);
      case "input":
        return await ui.input(title, placeholder, dialog);
      case "editor":
        return await ui.editor(title, prefill);
    }
  };
}
