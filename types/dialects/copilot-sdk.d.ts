// `@github/copilot-sdk/extension`, as extensions with tools need it.

export type ToolResult =
  | string
  | {
      textResultForLlm: string;
      resultType?: "success" | "failure" | "rejected" | "denied";
      binaryResultsForLlm?: { data: string; mimeType: string; type?: string }[];
      error?: string;
    };

export interface ToolInvocation {
  sessionId: string;
  toolCallId: string;
  toolName: string;
  arguments: unknown;
}

export interface ExtensionTool {
  name: string;
  description?: string;
  /** JSON Schema, or a schema of zod. */
  parameters?: unknown;
  handler(args: any, invocation: ToolInvocation): Promise<ToolResult> | ToolResult;
  /** The tool only reads, so nobody has to approve its calls. */
  skipPermission?: boolean;
  overridesBuiltInTool?: boolean;
  defer?: "auto" | "never";
}

export interface ExtensionSession {
  readonly sessionId: string;
  readonly workspacePath: string;
  log(message: unknown): Promise<void>;
  on(event: string, listener: (event: any) => void): () => void;
  send(message: unknown): Promise<string>;
}

export declare function joinSession(options?: {
  tools?: ExtensionTool[];
  hooks?: Record<string, (...args: any[]) => unknown>;
  onPermissionRequest?: unknown;
}): Promise<ExtensionSession>;
export declare function approveAll(): { kind: string };
export declare function defineTool<T extends object>(name: string, tool: T): T & { name: string };
