import { execSync } from "node:child_process";

export default () => ({
  name: "processors",
  description: "Counts the processors that a program sees",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: execSync("nproc").toString().trim() }] }),
});
