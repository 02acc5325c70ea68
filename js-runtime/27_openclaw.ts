// OpenClaw: plugins with an entry that registers tools (dialects 1.7).
//
// `definePluginEntry` and `defineToolPlugin` return an object with `register(api)`. Its tools have the
// contract of pi.

import { logger } from "ext:haft/13_logger.ts";
import type { ImportedModule, Offered } from "ext:haft/27_dialect_table.ts";
import { registeredBy } from "ext:haft/27_pi.ts";
import { exportsOf, isRecord } from "ext:haft/27_values.ts";

/** Calls `register` of the entry that a module exports, and returns the tools that it registers. */
export async function enteredTools(module: ImportedModule): Promise<Offered | undefined> {
  const exported = exportsOf(module).map(([, value]) => value);
  const entry = exported.find((value) => isRecord(value) && isEntry(value));
  if (entry === undefined) return undefined;
  const offered = await registeredBy(async (pi) => {
    const api = Object.create(pi as object, {
      id: { value: entry.id },
      name: { value: entry.name ?? entry.id },
      config: { value: {} },
      pluginConfig: { value: {} },
      logger: { value: logger },
      registerTool: {
        value: (tool: unknown) => {
          for (const one of made(tool)) (pi as any).registerTool(one);
        },
      },
    });
    await entry.register(inert(api));
  }, module.path);
  return { ...offered, dialect: "openclaw" };
}

function isEntry(value: Record<string, any>): boolean {
  return typeof value["register"] === "function" && typeof value["id"] === "string";
}

/** Returns the tools that a registration stands for: a tool, or a function that makes some. */
function made(tool: unknown): unknown[] {
  const value = typeof tool === "function" ? tool({ config: {} }) : tool;
  return Array.isArray(value) ? value : value == null ? [] : [value];
}

/** Lets every other function of the interface exist and do nothing. */
function inert(api: object): object {
  return new Proxy(api, {
    get: (target, key) => {
      if (key in target) return Reflect.get(target, key);
      return typeof key === "string" && /^(?:register|on)/.test(key) ? () => {} : undefined;
    },
  });
}
