// `openclaw/plugin-sdk/…`: the functions with which plugins of OpenClaw define tools (dialects 1.7).

interface ToolOfPlugin {
  name: string;
  label?: string;
  description: string;
  parameters: unknown;
  execute?: (params: unknown, config: unknown, context: object) => unknown;
  factory?: (context: object) => unknown;
}

interface ToolPlugin {
  id: string;
  name: string;
  description?: string;
  configSchema?: unknown;
  tools: (tool: <T>(definition: T) => T) => readonly ToolOfPlugin[];
}

/** Returns the entry; haft calls its `register`. */
export function definePluginEntry<T>(entry: T): T {
  return entry;
}

/** Makes an entry that registers the tools. */
export function defineToolPlugin({ tools, ...facts }: ToolPlugin) {
  const definitions = tools((definition) => definition);
  return {
    ...facts,
    register(api: any): void {
      const config = api.pluginConfig ?? {};
      for (const { execute, factory, ...tool } of definitions) {
        if (factory !== undefined) {
          api.registerTool((toolContext: unknown) => factory({ api, config, toolContext }));
          continue;
        }
        api.registerTool({
          ...tool,
          label: tool.label ?? tool.name,
          async execute(toolCallId: string, params: unknown, signal: unknown, onUpdate: unknown) {
            return toolResult(
              await execute?.(params, config, { api, signal, toolCallId, onUpdate }),
            );
          },
        });
      }
    },
  };
}

/** Makes a result of any value: a text as it is, everything else as JSON. */
export function toolResult(value: any): unknown {
  if (Array.isArray(value?.content) && "details" in value) return value;
  const text = typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
  return { content: [{ type: "text", text }], details: value };
}

export const jsonResult = toolResult;
export const textResult = (text: string, details: unknown = text) => ({
  content: [{ type: "text", text }],
  details,
});
