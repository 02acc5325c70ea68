import { defineToolPlugin } from "openclaw/plugin-sdk/tool-plugin";
import { Type } from "typebox";

export default defineToolPlugin({
  id: "stock",
  name: "Stock",
  description: "Tells what is in stock",
  configSchema: Type.Object({ unit: Type.Optional(Type.String()) }),
  tools: (tool: any) => [
    tool({
      name: "in_stock",
      description: "Tells how many there are",
      parameters: Type.Object({ item: Type.String() }),
      execute: async ({ item }: any, config: any, { toolCallId, signal }: any) => ({
        item,
        count: 3,
        config,
        isCall: typeof toolCallId === "string" && !signal.aborted,
      }),
    }),
    tool({
      name: "order",
      description: "Orders",
      parameters: Type.Object({}),
      factory: () => ({
        name: "order",
        label: "Order",
        description: "Orders",
        parameters: Type.Object({}),
        execute: async () => ({ content: [{ type: "text", text: "ordered" }], details: { id: 1 } }),
      }),
    }),
  ],
});
