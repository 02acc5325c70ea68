// `@github/copilot-sdk` and its `/extension`: what extensions of GitHub Copilot import (dialects 1.5).

import { shared } from "../builtin.ts";
import { standIns } from "../unavailable.ts";

interface SessionOptions {
  tools?: unknown[];
  hooks?: object;
}

/** Offers tools to the session; see `js-runtime/27_copilot.ts`. */
export function joinSession(options?: SessionOptions): Promise<unknown> {
  return shared("joinSession")(options);
}

export function defineTool<T extends object>(name: string, tool: T): T & { name: string } {
  return { ...tool, name };
}

/** Returns the panel, which haft does not show. */
export function createCanvas<T>(canvas: T): T {
  return canvas;
}

export class CanvasError extends Error {
  override name = "CanvasError";
  readonly code: unknown;

  constructor(code: unknown, message?: string) {
    super(message ?? String(code));
    this.code = code;
  }
}

/** Answers questions about permissions; haft asks its own. */
export const approveAll = (): { kind: string } => ({ kind: "approved" });

/** The members that belong to an agent. Extensions may import them. */
const AGENT_MEMBERS = `
  BuiltInTools Canvas convertMcpCallToolResult CopilotClient CopilotRequestHandler
  CopilotSession CopilotWebSocketCloseStatus CopilotWebSocketForwarder CopilotWebSocketHandler
  createAttributedPermissionResult createSessionFsAdapter defineFactory
  DisableBypassPermissionsModes FactoryResumeError isFactoryRunTerminal RuntimeConnection
  SessionFsSqliteTransactionFailure SYSTEM_MESSAGE_SECTIONS ToolSet
`;

/** Exports that are looked up when they are asked for. */
export const __getters = standIns(
  "@github/copilot-sdk",
  "haft runs tools and has no agent of its own",
  AGENT_MEMBERS,
);
