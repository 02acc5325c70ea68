import { createSdkMcpServer, tool } from "@anthropic-ai/claude-agent-sdk";

export const server = createSdkMcpServer({ name: "s", tools: [tool("t", "d", {}, async () => ({ content: [] }))] });
