// The smallest server of MCP 2025-11-25. It notes its start beside the project.
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

appendFileSync("../started.txt", "started\n");
const tools = [{ name: "say", description: "Says hello", inputSchema: { type: "object" } }];
const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "small", version: "1.0.0" },
  }),
  "tools/list": () => ({ tools }),
  "tools/call": () => ({ content: [{ type: "text", text: "hello" }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = answers[method];
  const body = answer
    ? { result: answer(params ?? {}) }
    : { error: { code: -32601, message: method } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
}
