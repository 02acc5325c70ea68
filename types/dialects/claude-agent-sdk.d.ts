// `@anthropic-ai/claude-agent-sdk`, as modules with tools need it.

type Shape = Readonly<Record<string, { readonly _zod: { readonly output: unknown } }>>;

type Arguments<Args extends Shape> = {
  [Key in keyof Args as undefined extends Args[Key]["_zod"]["output"]
    ? never
    : Key]: Args[Key]["_zod"]["output"];
} & {
  [Key in keyof Args as undefined extends Args[Key]["_zod"]["output"]
    ? Key
    : never]?: Args[Key]["_zod"]["output"];
};

export type CallToolContent =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string }
  | { type: "audio"; data: string; mimeType: string }
  | { type: "resource"; resource: { uri: string; mimeType?: string; text?: string; blob?: string } }
  | { type: "resource_link"; uri: string; name: string; mimeType?: string };

export interface CallToolResult {
  content: CallToolContent[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

export interface SdkMcpToolDefinition<Args extends Shape = any> {
  name: string;
  description: string;
  inputSchema: Args;
  annotations?: ToolAnnotations;
  handler(args: Arguments<Args>, extra: unknown): Promise<CallToolResult>;
}

export declare function tool<const Args extends Shape>(
  name: string,
  description: string,
  inputSchema: Args,
  handler: (args: Arguments<Args>, extra: any) => Promise<CallToolResult>,
  extras?: { annotations?: ToolAnnotations; searchHint?: string; alwaysLoad?: boolean },
): SdkMcpToolDefinition<Args>;

export interface McpSdkServerConfig {
  type: "sdk";
  name: string;
  instance: unknown;
}

export declare function createSdkMcpServer(options: {
  name: string;
  version?: string;
  instructions?: string;
  tools?: SdkMcpToolDefinition[];
  alwaysLoad?: boolean;
  timeout?: number;
}): McpSdkServerConfig;
