// Extensions of GitHub Copilot: `joinSession({tools})` while the module is imported (dialects 1.5).
//
// The module gets haft's own `@github/copilot-sdk`, whose `joinSession` records the tools.

import { currentCall, type RunningCall, SafeMap, settings } from "ext:haft/00_state.ts";
import { shareWithScripts } from "ext:haft/05_packages.ts";
import { logger } from "ext:haft/13_logger.ts";
import type { Offered } from "ext:haft/27_dialect_table.ts";
import { blockOfData, isRecord, resultOfValue, textBlock } from "ext:haft/27_values.ts";

/** Configurations of `joinSession` by the request that loads the module. */
const joined = new SafeMap<RunningCall, any[]>();

/** Returns the tools that the module joined a session with. */
export function joinedTools(): Offered | undefined {
  const call = currentCall.get() as RunningCall;
  const configs = joined.get(call);
  if (configs === undefined) return undefined;
  joined.delete(call);
  const hooks = configs.reduce((sum, { hooks }) => sum + Object.keys(hooks ?? {}).length, 0);
  const canvases = configs.reduce((sum, { canvases: own }) => sum + (own?.length ?? 0), 0);
  const unserved: Record<string, number> = {};
  if (hooks > 0) unserved["hook"] = hooks;
  if (canvases > 0) unserved["canvas"] = canvases;
  const tools = configs.flatMap(({ tools }) => (Array.isArray(tools) ? tools : []));
  return {
    dialect: "copilot",
    tools: tools.map((tool) => ({ tool: toolOf(tool) })),
    unserved,
  };
}

function toolOf(tool: any): unknown {
  if (typeof tool?.handler !== "function") return tool;
  const own: Record<string, unknown> = {
    name: tool.name,
    description: tool.description ?? "",
    parameters: tool.parameters,
    async execute(toolCallId: string, args: unknown, _update: unknown, ctx: any) {
      const invocation = { sessionId: ctx.sessionId, toolCallId, toolName: tool.name };
      return resultOf(await tool.handler(args, { ...invocation, arguments: args }));
    },
  };
  // Its author says that it needs no approval.
  if (tool.skipPermission === true) own["approval"] = "read";
  return own;
}

function resultOf(value: any): Record<string, unknown> {
  if (!isRecord(value) || typeof value["textResultForLlm"] !== "string") {
    return resultOfValue(value);
  }
  const { textResultForLlm, resultType, binaryResultsForLlm = [], ...details } = value;
  const files = binaryResultsForLlm.map((file: any) => blockOfData(file.data, file.mimeType));
  return {
    content: [textBlock(textResultForLlm), ...files],
    details,
    isError: resultType !== undefined && resultType !== "success",
  };
}

/** The session of an extension: its log is the tool's log, all else has no effect. */
function session() {
  return {
    sessionId: settings.sessionId,
    workspacePath: settings.cwd,
    log: async (message: unknown) => logger.info(message),
    on: () => () => {},
    send: async () => "",
    sendAndWait: async () => undefined,
    registerTools: () => {},
    disconnect: async () => {},
    destroy: async () => {},
  };
}

// haft's `@github/copilot-sdk` calls it.
shareWithScripts("joinSession", async (config: unknown) => {
  const call = currentCall.get();
  if (call !== undefined) joined.set(call, [...(joined.get(call) ?? []), config ?? {}]);
  return session();
});
