// `@anthropic-ai/claude-agent-sdk`: the functions that make tools (dialects 1.3).

import { unavailable } from "../unavailable.ts";

interface ToolExtras {
  annotations?: unknown;
  searchHint?: string;
  alwaysLoad?: boolean;
}

/** Makes a tool; `inputSchema` maps names to zod schemas. */
export function tool(
  name: string,
  description: string,
  inputSchema: object,
  handler: (args: any, extra: unknown) => Promise<unknown>,
  extras: ToolExtras = {},
) {
  const { annotations, searchHint, alwaysLoad } = extras;
  const mcp = { alwaysLoad, searchHint };
  return { name, description, inputSchema, handler, annotations, mcp };
}

/** Makes a server, whose tools haft serves one by one; see `js-runtime/27_exports.ts`. */
export function createSdkMcpServer(options: { name: string; tools?: unknown[] }) {
  const { name, tools = [] } = options;
  const server = { type: "sdk" as const, name, tools, instance: {} };
  (globalThis as Record<symbol, any>)[Symbol.for("haft.createdServer")](server);
  return server;
}

const noAgent = (name: string) =>
  unavailable("claude-agent-sdk", name, "haft runs tools and has no agent of its own");

export const query = noAgent("query");
export const unstable_v2_createSession = noAgent("unstable_v2_createSession");
export const unstable_v2_prompt = noAgent("unstable_v2_prompt");
export const unstable_v2_resumeSession = noAgent("unstable_v2_resumeSession");
