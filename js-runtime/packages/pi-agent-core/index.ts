// `pi-agent-core`: tools import types from it, which are gone when they run.
//
// Its agent is the program around the tool; here it says so when it is used.

import { unavailable } from "../unavailable.ts";

const noAgent = (name: string) =>
  unavailable("pi-agent-core", name, "haft runs tools and has no agent loop");

export const Agent = noAgent("Agent");
export const agentLoop = noAgent("agentLoop");
export const agentLoopContinue = noAgent("agentLoopContinue");
export const DEFAULT_AGENT_IDENTITY = noAgent("DEFAULT_AGENT_IDENTITY");
export const runAgentLoop = noAgent("runAgentLoop");
export const runAgentLoopContinue = noAgent("runAgentLoopContinue");
export const runToolCall = noAgent("runToolCall");
export const setDefaultStreamFn = noAgent("setDefaultStreamFn");
export const streamProxy = noAgent("streamProxy");
