import { tool } from "@opencode-ai/plugin";

export default tool({
  description: "Adds two numbers",
  args: { a: tool.schema.number().describe("First"), b: tool.schema.number() },
  async execute(args) {
    return args.a + args.b;
  },
});

export const report = tool({
  description: "Reports",
  args: { name: { type: "string" } },
  async execute(args, context) {
    context.metadata({ title: "half", metadata: { done: 0.5 } });
    await context.ask({ permission: "read", patterns: ["*"], always: [], metadata: {} });
    return {
      title: "Report",
      output: `${args.name} in ${context.directory === process.cwd()} by ${context.agent}, ${context.abort.aborted}`,
      metadata: { lines: 1 },
      attachments: [
        { type: "file", mime: "image/png", url: "data:image/png;base64,aGFmdA==" },
        { type: "file", mime: "text/plain", url: "file:///tmp/x.txt", filename: "x.txt" },
      ],
    };
  },
});

export const helper = () => "not a tool";
export const LIMIT = 3;
