// The adapters fit the types of the coding agents. Compiled by test/check.mjs --agents, never run.

import { query } from "@anthropic-ai/claude-agent-sdk";
import { createAgentSession } from "@earendil-works/pi-coding-agent";
import { createAgentSession as createOmpSession } from "@oh-my-pi/pi-coding-agent";
import { haft } from "haft";

const tools = await haft();

export const claude = query({
  prompt: "go",
  options: { mcpServers: { haft: tools.claudeAgent({ include: "git_*" }) } },
});
export const pi = await createAgentSession({ customTools: tools.pi() });
export const omp = await createOmpSession({ customTools: tools.omp() });
