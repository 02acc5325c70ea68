import { said } from "dep";
import { createRequire } from "node:module";
const made = createRequire(import.meta.url)("dep");
const seen = ["nodeBootstrap" in globalThis && "nodeBootstrap" in Object.keys(globalThis)];

export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: JSON.stringify([said, made.said, seen, Object.getOwnPropertyNames(globalThis).includes("nodeBootstrap"), (globalThis as any).nodeBootstrap]) }] }),
});
