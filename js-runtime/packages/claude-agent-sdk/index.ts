// `@anthropic-ai/claude-agent-sdk`: the functions that make tools (dialects 1.3).

import { shared } from "../builtin.ts";
import { standIns } from "../unavailable.ts";

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
  shared("createdServer")(server);
  return server;
}

/** The members of version 0.3 and before that belong to an agent. Tools may import them. */
const AGENT_MEMBERS = `
  AbortError archiveSession BUILTIN_TOOL_NAMES CommandMatcher deleteSession DirectConnectError
  DirectConnectTransport EXIT_REASONS FileIndex filterEscalatingDefaultMode foldSessionSummary
  forkSession getSessionInfo getSessionMessages getSubagentMessages HOOK_EVENTS
  importSessionToStore InMemorySessionStore LEGACY_TOOL_NAME_ALIASES listSessions listSubagents
  matchDeniedModels ORG_POLICY_LIMIT_PREFIXES parseDirectConnectUrl prewarm query renameSession
  resolveSettings startup SYSTEM_PROMPT_DYNAMIC_BOUNDARY tagSession unarchiveSession
  unstable_v2_createSession unstable_v2_prompt unstable_v2_resumeSession
  USAGE_LIMIT_ERROR_PREFIXES USAGE_TRANSITION_PREFIXES USAGE_WARNING_PREFIXES
`;

/** Exports that are looked up when they are asked for. */
export const __getters = standIns(
  "claude-agent-sdk",
  "haft runs tools and has no agent of its own",
  AGENT_MEMBERS,
);
