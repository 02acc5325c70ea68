// Tools for the Anthropic SDK, and for the Claude Agent SDK.

import type { AdapterOptions, Client } from "../client.js";
import { type McpInstance, mcpServer } from "../mcp_server.js";
import { offered, unlessError } from "../offered.js";
import type { Content } from "../types.js";

type AnthropicMedia = "image/jpeg" | "image/png" | "image/gif" | "image/webp";

export type AnthropicBlock =
  | { type: "text"; text: string }
  | { type: "image"; source: { type: "base64"; media_type: AnthropicMedia; data: string } };

/** A tool of `client.beta.messages.toolRunner`, as `betaTool` makes it. */
export interface AnthropicTool {
  type: "custom";
  name: string;
  description: string;
  input_schema: {
    type: "object";
    properties?: unknown;
    required?: string[];
    [key: string]: unknown;
  };
  run(
    args: any,
    context?: { signal?: AbortSignal | null | undefined; toolUse?: { id: string } },
  ): Promise<AnthropicBlock[]>;
  parse(content: unknown): any;
}

export function anthropicTools(client: Client, options: AdapterOptions): AnthropicTool[] {
  return offered(client, options).map((tool) => ({
    type: "custom",
    name: tool.alias,
    description: tool.info.description,
    input_schema: { ...tool.schema, type: "object" as const },
    run: async (args, context) => {
      const { signal, toolUse } = context ?? {};
      const result = await tool.call(args, { signal, callId: toolUse?.id });
      return unlessError(tool, result).content.map(anthropicBlock);
    },
    parse: (content) => content,
  }));
}

function anthropicBlock(block: Content): AnthropicBlock {
  if (block.type === "text") return block;
  const source = {
    type: "base64" as const,
    media_type: block.mimeType as AnthropicMedia,
    data: block.data,
  };
  return { type: "image", source };
}

/** A server of the option `mcpServers` of `query`. */
export interface ClaudeAgentServer {
  type: "sdk";
  name: string;
  instance: any;
}

export function claudeAgentServer(
  client: Client,
  options: AdapterOptions & { name?: string },
): ClaudeAgentServer {
  const name = options.name ?? "haft";
  const instance: McpInstance = mcpServer(client, name, options);
  return { type: "sdk", name, instance };
}
