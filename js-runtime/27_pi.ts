// Factories: modules whose default export is a function that gets `pi`.
//
// Tools of oh-my-pi return what they offer, extensions of pi register it (dialects 1.1). One API
// serves both: the functions that register are inherited by `pi`, so that it has the own keys of
// oh-my-pi's. What an extension registers besides tools is counted and has no effect.

import { captured, currentCall, type RunningCall, SafeMap } from "ext:haft/00_state.ts";
import { contentsOf, noticeChange } from "ext:haft/09_load_trace.ts";
import { toolApi } from "ext:haft/10_api.ts";
import { logger } from "ext:haft/13_logger.ts";
import { contextOf } from "ext:haft/15_context.ts";
import { sourceOf } from "ext:haft/18_order.ts";
import type { ImportedModule, Offered, OfferedTool } from "ext:haft/27_dialect_table.ts";
import { offeredAmong } from "ext:haft/27_exports.ts";
import { offeredByPlugin } from "ext:haft/27_opencode.ts";
import { isRecord, stemOf } from "ext:haft/27_values.ts";

/** Registrations of one module. */
interface Registrations {
  readonly tools: SafeMap<string, any>;
  readonly flags: SafeMap<string, unknown>;
  readonly unserved: Record<string, number>;
  /** Handlers of the session's start that register tools. */
  readonly starters: Handler[];
}

type Handler = (event: object, ctx: object) => unknown;

/** Registrations by the request that loads the module. */
const registrations = new SafeMap<RunningCall, Registrations>();

/** Calls the factory of a module, if its default export is one. */
export async function factoryTools(module: ImportedModule): Promise<Offered | undefined> {
  const { factory, path } = module;
  return factory === undefined ? undefined : registeredBy(factory, path);
}

/** Calls a factory, and returns the tools that it returns and those that it registers. */
export async function registeredBy(
  factory: (api: unknown) => unknown,
  path: string,
): Promise<Offered> {
  const api = toolApi(registration);
  const load = currentCall.get() as RunningCall;
  const own: Registrations = {
    tools: new SafeMap(),
    flags: new SafeMap(),
    unserved: {},
    starters: [],
  };
  registrations.set(load, own);
  const contents = contentsOf(api);
  try {
    const made = await factory(api);
    noticeChange(api, contents, "it changes `pi`");
    // Tools say "nothing to offer" with null, undefined or an empty list (spec omp-usage 10.11).
    const elements: unknown[] = captured.isArray(made) ? made : made == null ? [] : [made];
    for (const start of own.starters) await started(start);
    const others = await offeredByOthers(elements, path);
    const tools: OfferedTool[] = others ? [...others.tools] : elements.map((tool) => ({ tool }));
    for (const tool of own.tools.values()) tools.push(registered(tool));
    const registers = own.tools.size > 0 || Object.keys(own.unserved).length > 0;
    return {
      dialect: others?.dialect ?? (registers ? "pi" : "ohMyPi"),
      tools,
      unserved: { ...others?.unserved, ...own.unserved },
    };
  } finally {
    registrations.delete(load);
  }
}

/** Returns the tools of one object that a factory of another program returns: a plugin, a record of tools. */
async function offeredByOthers(made: unknown[], path: string): Promise<Offered | undefined> {
  const [only] = made;
  if (made.length !== 1 || !isRecord(only) || "execute" in only) return undefined;
  return offeredByPlugin(only) ?? (await offeredAmong([[stemOf(path), only]]));
}

const START = { type: "session_start", reason: "startup" };

/** Calls a handler of the session's start. The tools that it has registered until it fails count. */
async function started(handler: Handler): Promise<void> {
  try {
    await handler(START, contextOf());
  } catch (error) {
    logger.warn(`a handler of session_start failed: ${error}`);
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
  const hint = searchHint(tool);
  if (hint !== "" && tool.mcp === undefined) own["mcp"] = { searchHint: hint };
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

/** Words by which a client finds the tool that is not loaded from the beginning: those of its namespace. */
function searchHint({ namespace }: any): string {
  if (!isRecord(namespace)) return "";
  const { name, aliases, description } = namespace;
  const words: unknown[] = [name, ...(Array.isArray(aliases) ? aliases : []), description];
  return words.filter((word) => typeof word === "string" && word !== "").join(" ");
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
  on(event: string, handler: unknown): void {
    count("hook", "on");
    const isStarter = event === "session_start" && typeof handler === "function";
    // Of all handlers, only those that make tools have a use here.
    if (isStarter && /register\w*Tool/i.test(sourceOf(handler))) {
      current("on")?.starters.push(handler as Handler);
    }
  },
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
