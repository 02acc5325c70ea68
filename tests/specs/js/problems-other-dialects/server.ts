import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";

new McpServer({ name: "s", version: "1" }).registerTool("t", {}, async () => ({ content: [] }));
