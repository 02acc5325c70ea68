// Loads, and what it exports is for opencode.
import type { ToolDefinition } from "@opencode-ai/plugin";

export const one: ToolDefinition = { description: "d", args: {}, execute: async () => "x" };
