import { writeFileSync } from "node:fs";

writeFileSync(process.env.CASE + "/ran.txt", "ran");

export default () => ({
  name: "claude_speak",
  description: "From Claude.",
  parameters: { type: "object", properties: {} },
  execute: async () => ({ content: [{ type: "text", text: "claude" }] }),
});
