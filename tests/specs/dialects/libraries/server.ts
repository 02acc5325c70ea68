import { createSdkMcpServer, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";

// The server is not exported, as in many examples.
const server = createSdkMcpServer({
  name: "clock",
  tools: [tool("hour", "Tells the hour", { zone: z.string() }, async ({ zone }: any) => ({ content: [{ type: "text", text: `12 in ${zone}` }] }))],
});
console.error(server.type);
