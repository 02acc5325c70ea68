import { createRequire } from "node:module";

const { answer } = createRequire(import.meta.url)("./addon.node");

export default () => ({
  name: "answer",
  description: "asks a native module",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: String(answer()) }] }),
});
