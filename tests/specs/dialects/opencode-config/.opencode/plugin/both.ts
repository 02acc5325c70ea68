import { tool } from "@opencode-ai/plugin";
export const Both = async () => ({ tool: { both: tool({ description: "Is found twice", args: {}, execute: async () => "once" }) } });
