// The tools as models see them: with names and schemas that providers accept.

import type { AdapterOptions, Client } from "./client.js";
import { HaftError, ToolError, textOf } from "./errors.js";
import { providerNames, selector } from "./names.js";
import { type JsonSchema, objectSchema } from "./schema.js";
import type { CallOptions, ToolInfo, ToolResult, ToolUpdate } from "./types.js";

/** Circumstances of a call, as its framework gives them. */
export interface FrameworkCall {
  signal?: AbortSignal | null | undefined;
  callId?: string | undefined;
  onUpdate?: (update: ToolUpdate) => void;
  onAsk?: CallOptions["onAsk"];
}

export interface Offered {
  /** The name for models; `info.name` is haft's. */
  alias: string;
  info: ToolInfo;
  schema: JsonSchema;
  /**
   * Calls the tool. A failure of haft is a result with `isError`, since the model should read it. Rejects if the call
   * was cancelled, if haft ended, and if a handler of the program threw.
   */
  call(args: unknown, call: FrameworkCall): Promise<ToolResult>;
}

/** Returns the tools for a model: without hidden and untrusted ones. */
export function offered(client: Client, options: AdapterOptions): Offered[] {
  const takes = selector(options);
  const tools = client.tools.filter(
    (tool) => !tool.hidden && tool.trusted !== false && takes(tool.name),
  );
  const names = providerNames(tools.map((tool) => tool.name));
  return tools.map((info) => ({
    alias: names.get(info.name)!,
    info,
    schema: objectSchema(info.inputSchema),
    call: (args, call) => called(client, options, info.name, args, call),
  }));
}

async function called(
  client: Client,
  options: AdapterOptions,
  tool: string,
  args: unknown,
  { signal, callId, onUpdate, onAsk }: FrameworkCall,
): Promise<ToolResult> {
  try {
    return await client.call(tool, args as any, {
      signal: signal ?? undefined,
      timeoutMs: options.timeoutMs,
      onAsk: options.onAsk ?? onAsk,
      onApproval: options.onApproval,
      onUpdate: (update) => {
        onUpdate?.(update);
        options.onUpdate?.(update, { tool, callId });
      },
    });
  } catch (error) {
    const isForModel =
      error instanceof HaftError &&
      error.kind !== "ended" &&
      error.kind !== "closed" &&
      error.kind !== "usage";
    if (!isForModel) throw error;
    const text = textOf(error);
    return { content: [{ type: "text", text }], details: {}, isError: true, durationMs: 0, text };
  }
}

/** Throws the text of a failed result, for frameworks that turn exceptions into error results. */
export function unlessError(tool: Offered, result: ToolResult): ToolResult {
  if (result.isError) throw new ToolError(tool.info.name, result.text, result);
  return result;
}
