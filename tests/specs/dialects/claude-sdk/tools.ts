import { createSdkMcpServer, tool } from "@anthropic-ai/claude-agent-sdk";
import { z } from "zod";
import { z as z3 } from "zod/v3";

const add = tool("add", "Adds", { a: z.number(), b: z.number().default(1) }, async (args, extra: any) => ({
  content: [{ type: "text", text: String(args.a + args.b) }],
  structuredContent: { sum: args.a + args.b, aborted: extra.signal.aborted },
}), { annotations: { readOnlyHint: true } });

const old = tool("old", "Has a schema of zod 3", { name: z3.string() } as any, async ({ name }: any) => ({
  content: [{ type: "text", text: `old ${name}` }],
  isError: name === "bad",
}));

const none = tool("none", "Takes nothing", {}, async () => ({ content: [] }));

export const server = createSdkMcpServer({ name: "sums", version: "1.0.0", tools: [add, old] });
export const tools = [add, none];
