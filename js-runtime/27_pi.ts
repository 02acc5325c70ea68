// Factories: modules whose default export is a function that gets `pi`.
//
// Tools of oh-my-pi return what they offer, extensions of pi register it (dialects 1.1). One API
// serves both: the functions that register are inherited by `pi`, so that it has the own keys of
// oh-my-pi's. What an extension registers besides tools is counted and has no effect.

import { captured, currentCall, type RunningCall, SafeMap } from "ext:haft/00_state.ts";
import { contentsOf, noticeChange } from "ext:haft/09_load_trace.ts";
import { toolApi } from "ext:haft/10_api.ts";
import { logger } from "ext:haft/13_logger.ts";
import type { ImportedModule, Offered, OfferedTool } from "ext:haft/28_dialects.ts";

/** Registrations of one module. */
interface Registrations {
  readonly tools: SafeMap<string, any>;
  readonly flags: SafeMap<string, unknown>;
  readonly unserved: Record<string, number>;
}

/** Registrations by the request that loads the module. */
const registrations = new SafeMap<RunningCall, Registrations>();

/** Calls a factory, and returns the tools that it returns and those that it registers. */
export async function factoryTools(module: ImportedModule): Promise<Offered | undefined> {
  const { factory } = module;
  if (factory === undefined) return undefined;
  const api = toolApi(registration);
  const load = currentCall.get() as RunningCall;
  const own: Registrations = { tools: new SafeMap(), flags: new SafeMap(), unserved: {} };
  registrations.set(load, own);
  const contents = contentsOf(api);
  try {
    const made = await factory(api);
    noticeChange(api, contents, "it changes `pi`");
    // Tools say "nothing to offer" with null, undefined or an empty list (spec omp-usage 10.11).
    const elements: unknown[] = captured.isArray(made) ? made : made == null ? [] : [made];
    const tools: OfferedTool[] = elements.map((tool) => ({ tool }));
    for (const tool of own.tools.values()) tools.push(registered(tool));
    return { tools, unserved: own.unserved };
  } finally {
    registrations.delete(load);
  }
}

/** Returns a tool of an extension. The members that oh-my-pi names alike are read from the tool itself. */
function registered(tool: any): OfferedTool {
  if (typeof tool !== "object" || tool === null) return { tool };
  const own: Record<string, unknown> = {};
  if (tool.exposure === "hidden") own["hidden"] = true;
  if (tool.approval === undefined && tool.annotations?.readOnlyHint === true) {
    own["approval"] = "read";
  }
  const { prepareArguments, execute } = tool;
  if (typeof execute === "function") {
    own["execute"] = (id: unknown, args: unknown, signal: unknown, update: any, ctx: unknown) => {
      const onUpdate = (partial: unknown) => update(withDetails(partial));
      return settled(execute.call(tool, id, args, signal, onUpdate, ctx));
    };
  }
  const prepares = typeof prepareArguments === "function";
  return {
    tool: Object.assign(Object.create(tool), own),
    order: "pi",
    prepare: prepares ? (args) => prepareArguments.call(tool, args) : undefined,
  };
}

function settled(result: any): any {
  return typeof result?.then === "function" ? result.then(withDetails) : withDetails(result);
}

/** `structuredContent` is what a client reads beside the text, as `details` of oh-my-pi is. */
function withDetails(result: any): any {
  if (result?.structuredContent === undefined || result.details !== undefined) return result;
  return { ...result, details: result.structuredContent };
}

/** Returns the registrations of the module that loads, or nothing after its load. */
function current(what: string): Registrations | undefined {
  const call = currentCall.get();
  const own = call && registrations.get(call);
  if (own === undefined) logger.debug(`pi.${what} has no effect after the module was loaded`);
  return own;
}

function count(kind: string, what: string): void {
  const own = current(what);
  if (own !== undefined) own.unserved[kind] = (own.unserved[kind] ?? 0) + 1;
}

const nothing = (): void => {};

const registration = {
  registerTool(tool: any): void {
    // A later tool of the same name replaces the earlier one, as in pi.
    current("registerTool")?.tools.set(tool?.name, tool);
  },
  registerFlag(name: string, options?: { default?: unknown }): void {
    const own = current("registerFlag");
    own?.flags.set(name, options?.default);
    count("flag", "registerFlag");
  },
  /** Returns the default of a flag: there is no command line that could set it. */
  getFlag: (name: string): unknown => current("getFlag")?.flags.get(name),
  on: () => count("hook", "on"),
  registerCommand: () => count("command", "registerCommand"),
  registerShortcut: () => count("shortcut", "registerShortcut"),
  registerProvider: () => count("provider", "registerProvider"),
  registerMessageRenderer: () => count("message renderer", "registerMessageRenderer"),
  registerEntryRenderer: () => count("message renderer", "registerEntryRenderer"),
  registerMcpServer: () => count("MCP server", "registerMcpServer"),
  unregisterProvider: nothing,
  sendUserMessage: nothing,
  appendEntry: nothing,
  setLabel: nothing,
  setSessionName: nothing,
  getSessionName: (): undefined => undefined,
  getActiveTools: (): string[] => [],
  getAllTools: (): unknown[] => [],
  setActiveTools: nothing,
  getCommands: (): unknown[] => [],
  setModel: async (): Promise<boolean> => false,
  getThinkingLevel: (): string => "off",
  setThinkingLevel: nothing,
  tools: [] as unknown[],
};
