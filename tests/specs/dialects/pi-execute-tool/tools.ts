import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

export default function (pi: ExtensionAPI) {
  pi.registerTool({
    name: "square",
    label: "Square",
    description: "Squares",
    parameters: Type.Object({ n: Type.Number() }),
    namespace: { name: "maths", aliases: ["arithmetic"], description: "Numbers" },
    async execute(_id: string, { n }: any, signal: any, onUpdate: any) {
      onUpdate?.({ content: [{ type: "text", text: `squaring ${n}` }] });
      return { content: [{ type: "text", text: String(n * n) }], details: { aborted: signal.aborted } };
    },
  });
  pi.registerTool({
    name: "sum_of_squares",
    label: "Sum",
    description: "Sums squares",
    parameters: Type.Object({ numbers: Type.Array(Type.Number()), wrong: Type.Optional(Type.String()) }),
    async execute(_id: string, { numbers, wrong }: any, signal: any, onUpdate: any, ctx: any) {
      let sum = 0;
      for (const n of numbers) {
        const result = await ctx.executeTool(wrong ?? "square", { n }, { signal, onUpdate });
        sum += Number(result.content[0].text);
      }
      return { content: [{ type: "text", text: String(sum) }], details: { keys: Object.keys({ ...ctx }).length } };
    },
  });
  // Calls a tool of another module; the second one only reads.
  const relay = (name: string, more = {}) =>
    pi.registerTool({
      name,
      label: name,
      description: "Calls a tool",
      parameters: Type.Object({ tool: Type.String(), args: Type.Optional(Type.Any()) }),
      ...more,
      execute: async (_id: string, { tool, args }: any, signal: any, onUpdate: any, ctx: any) =>
        ctx.executeTool(tool, args, { signal, onUpdate }),
    });
  relay("relay");
  relay("quiet_relay", { annotations: { readOnlyHint: true } });
}
