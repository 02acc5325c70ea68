import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { Type } from "typebox";

export default function (pi: ExtensionAPI) {
  pi.registerFlag("unit", { type: "string", default: "C" });
  pi.on("session_start", async () => {});
  pi.on("tool_call", async () => {});
  pi.registerCommand("weather", { handler: async () => {} });
  pi.registerShortcut("ctrl+w", { handler: async () => {} });
  const unit = pi.getFlag("unit");
  pi.registerTool({
    name: "weather",
    label: "Weather",
    description: "Tells the weather of a city",
    parameters: Type.Object({ city: Type.String(), days: Type.Optional(Type.Number()) }),
    annotations: { readOnlyHint: true },
    prepareArguments: (args: any) => ("place" in args ? { city: args.place } : args),
    async execute(toolCallId, params, signal, onUpdate, ctx) {
      onUpdate?.({ content: [{ type: "text", text: `asking for ${params.city}` }], details: {} });
      const state = `${typeof signal.aborted} ${ctx.hasUI} ${ctx.cwd === process.cwd()}`;
      return {
        content: [{ type: "text", text: `${params.city}: 21 ${unit} (${state})` }],
        structuredContent: { degrees: 21 },
      };
    },
  });
  pi.registerTool({
    name: "failing",
    label: "Failing",
    description: "Throws",
    parameters: { type: "object", properties: {} },
    async execute() {
      throw new Error("no network");
    },
  });
}
