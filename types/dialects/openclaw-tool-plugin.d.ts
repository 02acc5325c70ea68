// `openclaw/plugin-sdk/tool-plugin`, as plugins with tools need it.

type Static<Schema> = Schema extends { readonly static: infer Output } ? Output : any;

export interface ToolPluginContext {
  api: any;
  toolCallId: string;
  signal?: AbortSignal;
  onUpdate?: (partial: unknown) => void;
}

export interface ToolPluginTool<Schema = any, Config = any> {
  name: string;
  label?: string;
  description: string;
  parameters: Schema;
  optional?: boolean;
  execute(params: Static<Schema>, config: Config, context: ToolPluginContext): unknown;
}

export declare function defineToolPlugin<Config = any>(definition: {
  id: string;
  name: string;
  description: string;
  configSchema?: unknown;
  tools(
    tool: <const Schema>(definition: ToolPluginTool<Schema, Config>) => ToolPluginTool,
  ): readonly ToolPluginTool[];
}): { id: string; name: string; register(api: any): void };
