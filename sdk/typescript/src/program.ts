// Tools of the program itself, which every surface of its haft serves.

import type { Connection } from "./connection.js";
import { HaftError, textOf } from "./errors.js";
import { type ArgumentsOf, jsonSchemaOf, type Schema, validated } from "./schema.js";
import type { Content, ImageContent, Problem, Tier, ToolUpdate } from "./types.js";

/** Result of a tool of the program: text, content blocks, a whole result, or any JSON. */
export type ProgramResult =
  | string
  | Content[]
  | { content: Content[]; details?: unknown; isError?: boolean }
  | { [key: string]: unknown }
  | number
  | boolean
  | null
  | undefined
  // biome-ignore lint/suspicious/noConfusingVoidType: the result of a function without `return`
  | void;

/** A partial result: text, content blocks, or both parts. */
export type ProgramUpdate = string | Content[] | { content: Content[]; details?: unknown };

/** Questions to the user of a call, on whatever surface that is. */
export interface Ask {
  select(title: string, options: string[]): Promise<string | undefined>;
  confirm(title: string, message?: string): Promise<boolean>;
  input(title: string, placeholder?: string): Promise<string | undefined>;
  editor(title: string, prefill?: string): Promise<string | undefined>;
}

export interface ExecuteContext {
  callId: string;
  /** Fires when the call is cancelled or its time is up. */
  signal: AbortSignal;
  onUpdate(update: ProgramUpdate): void;
  ask: Ask;
}

export interface ToolDefinition<S extends Schema = any> {
  name: string;
  label?: string;
  description: string;
  /** The arguments: a JSON Schema, or a schema of zod or another library with Standard Schema. */
  schema: S;
  outputSchema?: Schema;
  /** Harm that a call may do; `exec` without it. */
  approval?: Tier;
  timeoutMs?: number;
  execute(args: ArgumentsOf<S>, context: ExecuteContext): ProgramResult | Promise<ProgramResult>;
}

/** Defines a tool of this program, with the type of its arguments. */
export function defineTool<S extends Schema>(tool: ToolDefinition<S>): ToolDefinition<S> {
  return tool;
}

/** Returns an image block for a result. */
export function image(data: Uint8Array | string, mimeType: string): ImageContent {
  return {
    type: "image",
    data: typeof data === "string" ? data : Buffer.from(data).toString("base64"),
    mimeType,
  };
}

/** Checks and converts the definitions for `tools/register`. */
function registrationOf(tool: ToolDefinition) {
  if (typeof tool?.name !== "string" || tool.name === "") {
    throw new HaftError("usage", "a tool of the program has no name");
  }
  if (typeof tool.execute !== "function") {
    throw new HaftError("usage", `the tool \`${tool.name}\` has no function \`execute\``);
  }
  const { name, label, description, outputSchema, approval, timeoutMs } = tool;
  return {
    name,
    label,
    description: description ?? "",
    parameters: jsonSchemaOf(tool.schema ?? { type: "object" }, name),
    outputSchema: outputSchema === undefined ? undefined : jsonSchemaOf(outputSchema, name),
    approval,
    timeoutMs,
  };
}

/** The registered tools and their running calls. */
export class ProgramTools {
  #tools = new Map<string, ToolDefinition>();
  readonly #calls = new Map<string, AbortController>();

  /** Replaces the registered tools. Returns the problems that haft reports. */
  async register(connection: Connection, tools: readonly ToolDefinition[]): Promise<Problem[]> {
    const registrations = tools.map(registrationOf);
    const names = new Set<string>();
    for (const { name } of tools) {
      if (names.has(name))
        throw new HaftError("usage", `two tools of the program are named \`${name}\``);
      names.add(name);
    }
    // haft may call a new tool before the answer is handled here.
    const before = this.#tools;
    const after = new Map(tools.map((tool) => [tool.name, tool]));
    this.#tools = new Map([...before, ...after]);
    try {
      const { problems } = await connection.request("tools/register", { tools: registrations });
      this.#tools = after;
      return problems;
    } catch (error) {
      this.#tools = before;
      throw error;
    }
  }

  /** Runs a call of haft. */
  async call(connection: Connection, { callId, name, arguments: args }: any): Promise<unknown> {
    const tool = this.#tools.get(name);
    if (tool === undefined) throw new Error(`the program has no tool \`${name}\``);
    const controller = new AbortController();
    this.#calls.set(callId, controller);
    try {
      const checked = await validated(tool.schema, args ?? {});
      const result = await tool.execute(checked, {
        callId,
        signal: controller.signal,
        onUpdate: (update) => {
          if (this.#calls.has(callId)) connection.update(callId, updateOf(update));
        },
        ask: askFor(connection, callId),
      });
      return resultOf(result);
    } catch (error) {
      return { content: [{ type: "text", text: textOf(error) }], isError: true };
    } finally {
      this.#calls.delete(callId);
    }
  }

  cancel(callId: string, reason: string): void {
    this.#calls.get(callId)?.abort(new Error(`the call was stopped: ${reason}`));
  }

  /** Stops all running calls, at the end of haft. */
  cancelAll(reason: Error): void {
    for (const controller of this.#calls.values()) controller.abort(reason);
  }
}

function askFor(connection: Connection, callId: string): Ask {
  const ask = async (method: string, params: object) => {
    const { value } = await connection.request("program/ask", { callId, method, ...params });
    return value ?? undefined;
  };
  return {
    select: (title, options) => ask("select", { title, options }),
    confirm: async (title, message = "") => (await ask("confirm", { title, message })) === true,
    input: (title, placeholder) => ask("input", { title, placeholder }),
    editor: (title, prefill) => ask("editor", { title, prefill }),
  };
}

function isContent(value: unknown): value is Content[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((block) => block?.type === "text" || block?.type === "image")
  );
}

function textBlock(text: string): Content[] {
  return [{ type: "text", text }];
}

function updateOf(update: ProgramUpdate): ToolUpdate {
  if (typeof update === "string") return { content: textBlock(update), details: {} };
  if (Array.isArray(update)) return { content: update, details: {} };
  return { content: update.content, details: update.details ?? {} };
}

function resultOf(result: ProgramResult): object {
  if (result === undefined) return { content: [] };
  if (typeof result === "string") return { content: textBlock(result) };
  if (isContent(result)) return { content: result };
  if (typeof result === "object" && result !== null && "content" in result) {
    const { content, details, isError } = result as any;
    if (Array.isArray(content) && (content.length === 0 || isContent(content))) {
      return { content, details, isError };
    }
  }
  const isObject = typeof result === "object" && result !== null && !Array.isArray(result);
  return {
    content: textBlock(JSON.stringify(result)),
    ...(isObject && { details: result }),
  };
}
