// Tools that a module exports as objects: of the Claude Agent SDK (dialects 1.3), the AI SDK (1.4), the
// OpenAI Agents SDK, Mastra and LangChain (1.7).
//
// The form of the object decides. An export may be a tool, a list of tools, or a record of tools.

import { currentCall, type RunningCall, SafeMap } from "ext:haft/00_state.ts";
import { packageByName, shareWithScripts } from "ext:haft/05_packages.ts";
import { parametersOf as namesOf, sourceOf } from "ext:haft/18_order.ts";
import type { DialectId, ImportedModule, Offered } from "ext:haft/27_dialect_table.ts";
import {
  blockOfData,
  exportsOf,
  isRecord,
  resultOfValue,
  stemOf,
  textBlock,
} from "ext:haft/27_values.ts";

/** Form of a tool: returns a tool in the contract of oh-my-pi, or nothing for other objects. */
type Form = (value: Record<string, any>, key: string) => Promise<any> | undefined;

const FORMS: readonly (readonly [DialectId, Form])[] = [
  ["claudeAgentSdk", claude],
  ["others", openaiAgents],
  ["others", langchain],
  ["others", mastra],
  ["aiSdk", aiSdk],
];

/** Tools that were found, and the dialect of the first one. */
interface Found {
  readonly tools: Promise<any>[];
  dialect?: DialectId;
}

/** Returns the tools among the exports, or nothing if there are none. */
export async function exportedTools(module: ImportedModule): Promise<Offered | undefined> {
  const servers = createdServers();
  const exported = exportsOf(module).map(([name, value]): [string, any] => {
    return [name === "default" ? stemOf(module.path) : name, value];
  });
  const offered = await offeredAmong(exported);
  if (offered !== undefined) return offered;
  // Many programs export a function that makes the tools or their server.
  const results = await made(exported);
  // The server of an example is often a constant of the module.
  const own: [string, unknown] = ["server", [...servers, ...createdServers()]];
  return (await offeredAmong(results)) ?? offeredAmong([own]);
}

/**
 * Returns what a module offers whose exports, or the results of its functions, are these values by
 * name; nothing if there is no tool among them.
 */
export async function offeredAmong(values: readonly [string, any][]): Promise<Offered | undefined> {
  const found: Found = { tools: [] };
  const seen = new Set<unknown>();
  const take = (value: any, key: string, depth: number): void => {
    if (typeof value !== "object" || value === null || seen.has(value)) return;
    seen.add(value);
    if (!Array.isArray(value)) {
      for (const [dialect, form] of FORMS) {
        const tool = form(value, key);
        if (tool === undefined) continue;
        found.dialect ??= dialect;
        return void found.tools.push(tool);
      }
    }
    const server = toolsOfServer(value);
    // Records of records are settings, not tools.
    if (server === undefined && depth === 0) return;
    for (const [name, member] of Object.entries(server ?? value)) take(member, name, depth - 1);
  };
  for (const [name, value] of values) take(value, name, 1);
  const { dialect } = found;
  if (dialect === undefined) return undefined;
  return { dialect, tools: (await Promise.all(found.tools)).map((tool) => ({ tool })) };
}

const MAKER = /^(?:create|make|build|get|define)\w*(?:tools?|server)$/i;

/** Calls the exported functions without parameters whose names say that they make tools. */
async function made(exported: readonly [string, any][]): Promise<[string, any][]> {
  const results: [string, any][] = [];
  for (const [name, value] of exported) {
    const isMaker = typeof value === "function" && value.length === 0 && MAKER.test(name);
    if (isMaker && !sourceOf(value).startsWith("class")) results.push([name, await value()]);
  }
  return results;
}

/** Servers of `createSdkMcpServer` by the request that loads the module. */
const created = new SafeMap<RunningCall, unknown[]>();

/** Returns the servers that the module has created since the last question. */
function createdServers(): unknown[] {
  const load = currentCall.get() as RunningCall;
  const servers = created.get(load) ?? [];
  created.delete(load);
  return servers;
}

// haft's `@anthropic-ai/claude-agent-sdk` calls it.
shareWithScripts("createdServer", (server: unknown) => {
  const call = currentCall.get();
  // A call has an abort signal; only loads are asked for their servers.
  if (call?.abort === null) created.set(call, [...(created.get(call) ?? []), server]);
});

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
  const { name, execute } = tool;
  if (typeof execute !== "function" || schema == null) return undefined;
  if (name == null) return aiSdkTool(tool, schema, key);
  // A tool with a name of its own may be one of oh-my-pi's, whose call has an id first. Without
  // parameters it cannot be told apart, and oh-my-pi refuses a tool that no factory makes.
  const [first = ""] = namesOf(sourceOf(execute)) ?? [];
  const isOfAiSdk = typeof name === "string" && first !== "" && !/id$/i.test(first);
  return isOfAiSdk ? aiSdkTool(tool, schema, name) : undefined;
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
