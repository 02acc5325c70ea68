// opencode: tool files, and plugins with tools (dialects 1.2).
//
// A tool is an object with `args`, a description and `execute`. Its name is that of the file for the
// default export, and `file_export` for others. Exports that are no tools are skipped.

import { packageByName } from "ext:haft/05_packages.ts";
import { logger } from "ext:haft/13_logger.ts";
import { parametersOf, sourceOf } from "ext:haft/18_order.ts";
import type { ImportedModule, Offered, OfferedTool } from "ext:haft/27_dialect_table.ts";
import {
  blockOfUrl,
  exportsOf,
  isRecord,
  resultOfValue,
  stemOf,
  textBlock,
} from "ext:haft/27_values.ts";

const TOOL_FOLDER = /[/.]opencode\/tools?\/[^/]*$/;
const PLUGIN_FOLDER = /[/.]opencode\/(?:plugins?\/[^/]*$|node_modules\/)/;
/** Query that discovery adds to the address of a module that opencode's configuration names as a plugin. */
const PLUGIN_QUERY = "?opencode-plugin";

/** Returns the tools among the exports. A file of opencode's tool folder may have none. */
export function opencodeTools(module: ImportedModule): Offered | undefined {
  const stem = stemOf(module.path);
  const tools = exportsOf(module)
    .filter(([, value]) => isDefinition(value))
    .map(([name, value]) => toolOf(name === "default" ? stem : `${stem}_${name}`, value));
  if (tools.length === 0 && !TOOL_FOLDER.test(module.path)) return undefined;
  return { dialect: "opencode", tools: tools.map((tool) => ({ tool })) };
}

/**
 * Calls the plugins of a module, and returns their tools: those of a file that opencode takes for a
 * plugin, or a default export that takes the input of plugins.
 */
export async function opencodePlugins(module: ImportedModule): Promise<Offered | undefined> {
  const { path, query, factory } = module;
  const isPlugin = PLUGIN_FOLDER.test(path) || query === PLUGIN_QUERY;
  if (!isPlugin && !(factory && takesPluginInput(factory))) return undefined;
  // Other exports of a module elsewhere may be functions of any kind.
  const exported = isPlugin ? exportsOf(module).map(([, value]) => value) : [factory];
  const tools: OfferedTool[] = [];
  const unserved: Record<string, number> = {};
  for (const plugin of new Set(exported.flatMap(pluginsIn))) {
    const made = await plugin(pluginInput(), {});
    if (!isRecord(made)) continue;
    const offered = offeredByPlugin(made) ?? { tools: [], unserved: hooks(made) };
    tools.push(...offered.tools);
    for (const [kind, number] of Object.entries(offered.unserved ?? {})) {
      unserved[kind] = (unserved[kind] ?? 0) + number;
    }
  }
  return { dialect: "opencodePlugin", tools, unserved };
}

const hooks = (made: object): Record<string, number> => {
  const hook = Object.keys(made).length;
  return hook > 0 ? { hook } : {};
};

type Plugin = (input: unknown, options: unknown) => unknown;

/** Returns the plugin in an export: a function, or newer a record with `server`. */
function pluginsIn(value: any): Plugin[] {
  if (typeof value === "function") return sourceOf(value).startsWith("class") ? [] : [value];
  return isRecord(value) && typeof value["server"] === "function" ? [value["server"]] : [];
}

/** Members of the input of a plugin that no other interface has. */
const INPUT_MEMBERS = /^\{[^}]*(?<![\w$.])(?:client|worktree|directory|project|\$)\s*(?:[,:=}]|$)/;

/** Returns true for a function whose first parameter takes the input of plugins apart. */
function takesPluginInput(value: (input: any) => unknown): boolean {
  const [first = ""] = parametersOf(sourceOf(value)) ?? [];
  return INPUT_MEMBERS.test(first);
}

/** Returns what a plugin offers that has returned this, or nothing if it has no tools. */
export function offeredByPlugin(made: Record<string, any>): Offered | undefined {
  const { tool, ...others } = made;
  if (!isRecord(tool)) return undefined;
  const definitions = Object.entries(tool).filter(([, definition]) => isDefinition(definition));
  if (definitions.length === 0 && Object.keys(tool).length > 0) return undefined;
  return {
    dialect: "opencodePlugin",
    tools: definitions.map(([name, definition]) => ({ tool: toolOf(name, definition) })),
    unserved: hooks(others),
  };
}

function isDefinition(value: any): boolean {
  return (
    isRecord(value) &&
    isRecord(value["args"]) &&
    typeof value["description"] === "string" &&
    typeof value["execute"] === "function"
  );
}

function toolOf(name: string, definition: any): Record<string, unknown> {
  return {
    name,
    description: definition.description,
    parameters: schemaOf(definition.args),
    async execute(callId: string, args: unknown, onUpdate: any, ctx: any, signal: AbortSignal) {
      const context = contextOf(callId, onUpdate, ctx, signal);
      return resultOf(await definition.execute(args, context));
    },
  };
}

/** `args` maps names to schemas of zod, or to JSON Schemas that are all required. */
function schemaOf(args: Record<string, any>): unknown {
  // Not by the book, and yet some authors pass `z.object(…)`.
  if (args["_zod"] !== undefined) return args;
  const names = Object.keys(args);
  if (names.length > 0 && names.every((name) => args[name]?._zod !== undefined)) return args;
  if (names.length > 0 && names.every((name) => args[name]?._def !== undefined)) {
    return packageByName("zod-v3")["object"](args);
  }
  return { type: "object", properties: args, required: names };
}

function contextOf(callId: string, onUpdate: any, ctx: any, signal: AbortSignal) {
  const directory: string = ctx.cwd;
  return {
    sessionID: ctx.sessionId,
    messageID: callId,
    callID: callId,
    agent: "haft",
    directory,
    get worktree() {
      return worktreeOf(directory);
    },
    abort: signal,
    metadata({ title, metadata }: { title?: string; metadata?: unknown } = {}): void {
      onUpdate({ content: [textBlock(title ?? "")], details: { title, metadata } });
    },
    /** Asks the user if calls are not approved in advance. Rejects if the answer is no. */
    async ask(request: { permission?: string; patterns?: string[] } = {}): Promise<void> {
      // Without a user the approval of the call itself, whose tier is `exec`, has to do.
      if (ctx.autoApprove || !ctx.hasUI) return;
      const what = (request.patterns ?? []).join("\n");
      if (await ctx.ui.confirm(`Allow ${request.permission ?? "this"}?`, what)) return;
      throw new Error("The user rejected permission to use this specific tool call.");
    },
  };
}

/** Returns the root of the git repository, or the folder itself outside of one. */
function worktreeOf(folder: string): string {
  const fs = (globalThis as any).process.getBuiltinModule("node:fs");
  try {
    for (let at = folder; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
      if (fs.existsSync(`${at}/.git`)) return at;
    }
  } catch {
    // The permissions of the tool end below the root.
  }
  return folder;
}

function resultOf(value: any): Record<string, unknown> {
  if (!isRecord(value) || typeof value["output"] !== "string") return resultOfValue(value);
  const { title, output, metadata, attachments = [] } = value;
  const files = attachments.filter((file: any) => typeof file?.url === "string");
  return {
    content: [
      textBlock(output),
      ...files.map((file: any) => blockOfUrl(file.url, file.mime, file.filename)),
    ],
    details: { title, metadata },
  };
}

function pluginInput(): Record<string, unknown> {
  const directory = (globalThis as any).process.cwd();
  return {
    client: { app: { log }, ...unavailableClient() },
    project: { id: "global", worktree: directory },
    directory,
    get worktree() {
      return worktreeOf(directory);
    },
    serverUrl: undefined,
    get $() {
      return packageByName("bun")["$"];
    },
  };
}

async function log(entry: any): Promise<boolean> {
  const { level = "info", message = "" } = entry?.body ?? {};
  const write = (logger as Record<string, any>)[level] ?? logger.info;
  write(message);
  return true;
}

/** Every other part of opencode's client, whose functions say that there is no server. */
function unavailableClient(): Record<string, unknown> {
  const part = (name: string) =>
    new Proxy(
      {},
      {
        get: (_, method) => async () => {
          const what = `client.${name}.${String(method)}`;
          throw new Error(
            `\`${what}\` is not available: haft runs tools and is no opencode server`,
          );
        },
      },
    );
  const parts = "session config file find path project provider tui event".split(" ");
  return Object.fromEntries(parts.map((name) => [name, part(name)]));
}
