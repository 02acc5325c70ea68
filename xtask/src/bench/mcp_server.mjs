// The peer: the official TypeScript SDK's server on standard input and output. Without arguments it has
// the tools of `mcp_tools.ts`, else those of the modules that are named.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "peer", version: "1.0.0" });
const modules = process.argv.slice(2);
const says = (text) => ({ content: [{ type: "text", text }] });

for (const file of modules) {
  const { default: factory } = await import(file);
  const tool = await factory({ zod: z });
  server.registerTool(
    tool.name,
    { title: tool.label, description: tool.description, inputSchema: tool.parameters.shape },
    (params) => tool.execute("call", params),
  );
}
if (modules.length === 0) {
  let tell;
  server.registerTool(
    "echo",
    { title: "Echo", description: "Says what it is told", inputSchema: { text: z.string() } },
    async ({ text }) => says(text),
  );
  server.registerTool("wait", { description: "Waits", inputSchema: {} }, async (_args, extra) => {
    const { signal, _meta, sendNotification } = extra;
    const progressToken = _meta?.progressToken;
    await sendNotification({
      method: "notifications/progress",
      params: { progressToken, progress: 1 },
    });
    return new Promise((resolve) => {
      signal.addEventListener("abort", () => {
        tell?.(says("abort"));
        resolve(says("aborted"));
      });
    });
  });
  server.registerTool("heard", { description: "Hears of an abort", inputSchema: {} }, () => {
    return new Promise((resolve) => {
      tell = resolve;
    });
  });
}
await server.connect(new StdioServerTransport());
