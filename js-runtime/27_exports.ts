// Tools that a module exports as objects: of the Claude Agent SDK (dialects 1.3), the AI SDK (1.4), the
// OpenAI Agents SDK, Mastra and LangChain (1.7).
//
// The form of the object decides. An export may be a tool, a list of tools, or a record of tools.

import { packageByName } from "ext:haft/05_packages.ts";
import {
  blockOfData,
  exportsOf,
  isRecord,
  resultOfValue,
  stemOf,
  textBlock,
} from "ext:haft/27_values.ts";
import type { ImportedModule, Offered } from "ext:haft/28_dialects.ts";

/** Form of a tool: returns a tool in the contract of oh-my-pi, or nothing for other objects. */
type Form = (value: Record<string, any>, key: string) => Promise<any> | undefined;

const FORMS: readonly Form[] = [claude, openaiAgents, langchain, mastra, aiSdk];

/** Returns the tools among the exports, or nothing if there are none. */
export async function exportedTools(module: ImportedModule): Promise<Offered | undefined> {
  const found: Promise<any>[] = [];
  const seen = new Set<unknown>();
  const take = (value: any, key: string, depth: number): void => {
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    seen.add(value);
    if (!Array.isArray(value)) {
      for (const form of FORMS) {
        const tool = form(value, key);
        if (tool !== undefined) return void found.push(tool);
      }
    }
    const inside = toolsOfServer(value) ?? value;
    // Records of records are settings, not tools.
    if (depth > 0)
      for (const [name, member] of Object.entries(inside)) take(member, name, depth - 1);
  };
  for (const [name, value] of exportsOf(module)) {
    take(value, name === "default" ? stemOf(module.path) : name, 1);
  }
  if (found.length === 0) return undefined;
  return { tools: (await Promise.all(found)).map((tool) => ({ tool })) };
}

/** Returns the tools of `createSdkMcpServer`: haft's keeps them, an installed one registers them. */
function toolsOfServer(value: any): Record<string, any> | undefined {
  if (value?.type !== "sdk" || !isRecord(value.instance)) return undefined;
  if (Array.isArray(value.tools)) return value.tools;
  const registered = Object.entries(value.instance["_registeredTools"] ?? {});
  const named = registered.map(([name, { handler, callback, ...tool }]: [string, any]) => {
    return [
      name,
      { ...tool, name, inputSchema: tool.inputSchema ?? {}, handler: handler ?? callback },
    ];
  });
  return Object.fromEntries(named);
}

function claude(tool: Record<string, any>): Promise<any> | undefined {
  const { name, description, inputSchema, handler, annotations, mcp } = tool;
  const isTool = typeof handler === "function" && typeof name === "string" && isRecord(inputSchema);
  if (!isTool) return undefined;
  return Promise.resolve({
    name,
    description: description ?? "",
    parameters: parametersOf(inputSchema),
    approval: annotations?.readOnlyHint === true ? "read" : undefined,
    mcp,
    async execute(id: string, args: unknown, _update: unknown, _ctx: unknown, signal: AbortSignal) {
      const extra = {
        signal,
        requestId: id,
        _meta: {},
        sendNotification: async () => {},
        sendRequest: async () => {
          throw new Error("a tool cannot send requests to the client here");
        },
      };
      const result = await handler(args, extra);
      const isResult = isRecord(result) && Array.isArray(result["content"]);
      if (!isResult) return resultOfValue(result);
      return { ...result, details: result["structuredContent"] };
    },
  });
}

/** Completes a bare map of names to schemas, of zod 4 or zod 3. Other schemas stay. */
function parametersOf(schema: Record<string, any>): unknown {
  const members = Object.values(schema);
  if (members.length === 0) return { type: "object", properties: {} };
  const isZod3 = (member: any) => typeof member?._def?.typeName === "string" && !member._zod;
  return members.every(isZod3) ? packageByName("zod-v3")["object"](schema) : schema;
}

function aiSdk(tool: Record<string, any>, key: string): Promise<any> | undefined {
  const schema = tool["inputSchema"] ?? tool["parameters"];
  const isTool = typeof tool["execute"] === "function" && schema != null && tool["name"] == null;
  return isTool ? aiSdkTool(tool, schema, key) : undefined;
}

/** Mark of the schemas that `jsonSchema()` of the AI SDK returns. */
const AI_SCHEMA = Symbol.for("vercel.ai.schema");

async function aiSdkTool(tool: Record<string, any>, schema: any, name: string): Promise<any> {
  const { description, title } = tool;
  const lazy = typeof schema === "function" && schema["~standard"] === undefined;
  const own = lazy ? schema() : schema;
  return {
    name,
    label: title,
    description: (typeof description === "function" ? description({}) : description) ?? "",
    parameters: own?.[AI_SCHEMA] === true ? await own.jsonSchema : own,
    async execute(
      id: string,
      args: unknown,
      onUpdate: any,
      _ctx: unknown,
      abortSignal: AbortSignal,
    ) {
      const options = { toolCallId: id, messages: [], abortSignal, context: {} };
      const answer = tool["execute"](args, { ...options, experimental_context: {} });
      const output = await lastOf(answer, (value) => onUpdate(resultOfValue(value)));
      if (typeof tool["toModelOutput"] !== "function") return resultOfValue(output);
      return modelOutput(
        await tool["toModelOutput"]({ toolCallId: id, input: args, output }),
        output,
      );
    },
  };
}

/** Returns the last value of an asynchronous iterable, and reports those before it. */
async function lastOf(answer: any, report: (value: unknown) => void): Promise<unknown> {
  if (typeof answer?.[Symbol.asyncIterator] !== "function") return answer;
  let last: unknown;
  let isFirst = true;
  for await (const value of answer) {
    if (!isFirst) report(last);
    isFirst = false;
    last = value;
  }
  return last;
}

function modelOutput(given: any, details: unknown): Record<string, unknown> {
  const { type, value } = given ?? {};
  const isError = typeof type === "string" && type.startsWith("error");
  if (type !== "content" || !Array.isArray(value)) {
    return { ...resultOfValue(value), details, isError };
  }
  const content = value.map((part: any) => {
    if (part?.type === "text") return textBlock(String(part.text));
    return blockOfData(part?.data ?? "", part?.mediaType ?? "application/octet-stream");
  });
  return { content, details };
}

function mastra(tool: Record<string, any>): Promise<any> | undefined {
  const { id, description, inputSchema, outputSchema } = tool;
  if (typeof id !== "string" || typeof tool["execute"] !== "function") return undefined;
  const run: Run = (args, abortSignal) => tool["execute"](args, { abortSignal });
  return returning({ name: id, description, parameters: inputSchema, outputSchema }, run);
}

function langchain(tool: Record<string, any>): Promise<any> | undefined {
  const { name, description, schema, invoke } = tool;
  const isTool = typeof invoke === "function" && typeof name === "string" && schema != null;
  if (!isTool) return undefined;
  return returning({ name, description, parameters: schema }, async (args, signal) => {
    const answer = await tool["invoke"](args, { signal });
    const isMessage = isRecord(answer) && typeof answer["content"] === "string";
    return isMessage ? answer["content"] : answer;
  });
}

function openaiAgents(tool: Record<string, any>): Promise<any> | undefined {
  const { type, name, description, parameters, invoke } = tool;
  if (type !== "function" || typeof invoke !== "function") return undefined;
  const run: Run = (args, signal) =>
    tool["invoke"]({ context: {} }, JSON.stringify(args), { signal });
  return returning({ name, description, parameters }, run);
}

type Run = (args: unknown, signal: AbortSignal) => unknown;

/** Returns a tool whose function returns any value. */
async function returning(tool: Record<string, any>, run: Run): Promise<any> {
  return {
    ...tool,
    description: tool["description"] ?? "",
    async execute(
      _id: string,
      args: unknown,
      _update: unknown,
      _ctx: unknown,
      signal: AbortSignal,
    ) {
      return resultOfValue(await run(args, signal));
    },
  };
}
