// opencode: tool files, and plugins with tools (dialects 1.2).
//
// A tool is an object with `args`, a description and `execute`. Its name is that of the file for the
// default export, and `file_export` for others. Exports that are no tools are skipped.

import { packageByName } from "ext:haft/05_packages.ts";
import { logger } from "ext:haft/13_logger.ts";
import {
  blockOfUrl,
  exportsOf,
  isRecord,
  resultOfValue,
  stemOf,
  textBlock,
} from "ext:haft/27_values.ts";
import type { ImportedModule, Offered } from "ext:haft/28_dialects.ts";

const TOOL_FOLDER = /[/.]opencode\/tools?\/[^/]*$/;
const PLUGIN_FOLDER = /[/.]opencode\/plugins?\/[^/]*$/;

/** Returns the tools among the exports. A file of opencode's tool folder may have none. */
export function opencodeTools(module: ImportedModule): Offered | undefined {
  const stem = stemOf(module.path);
  const tools = exportsOf(module)
    .filter(([, value]) => isDefinition(value))
    .map(([name, value]) => toolOf(name === "default" ? stem : `${stem}_${name}`, value));
  if (tools.length === 0 && !TOOL_FOLDER.test(module.path)) return undefined;
  return { tools: tools.map((tool) => ({ tool })) };
}

/** Calls the plugins of a file in opencode's plugin folder, and returns their tools. */
export async function opencodePlugins(module: ImportedModule): Promise<Offered | undefined> {
  if (!PLUGIN_FOLDER.test(module.path)) return undefined;
  const plugins = new Set(exportsOf(module).map(([, value]) => value));
  const tools: Record<string, unknown>[] = [];
  let hooks = 0;
  for (const plugin of plugins) {
    if (typeof plugin !== "function") continue;
    const { tool = {}, ...others } = (await plugin(pluginInput())) ?? {};
    hooks += Object.keys(others).length;
    for (const [name, definition] of Object.entries(tool)) {
      if (isDefinition(definition)) tools.push(toolOf(name, definition));
    }
  }
  return { tools: tools.map((tool) => ({ tool })), unserved: hooks > 0 ? { hook: hooks } : {} };
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
    parameters: parametersOf(definition.args),
    async execute(callId: string, args: unknown, onUpdate: any, ctx: any, signal: AbortSignal) {
      const context = contextOf(callId, onUpdate, ctx, signal);
      return resultOf(await definition.execute(args, context));
    },
  };
}

/** `args` maps names to schemas of zod, or to JSON Schemas that are all required. */
function parametersOf(args: Record<string, any>): unknown {
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
  const parts = [
    "session",
    "config",
    "file",
    "find",
    "path",
    "project",
    "provider",
    "tui",
    "event",
  ];
  return Object.fromEntries(parts.map((name) => [name, part(name)]));
}
