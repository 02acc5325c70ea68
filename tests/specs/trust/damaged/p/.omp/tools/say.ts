import { writeFileSync } from "node:fs";
import { word } from "../../lib/word";

// Importing this file leaves a trace.
writeFileSync(process.env.CASE + "/ran.txt", "ran");

export default () => ({
  name: "say",
  description: "Says a word.",
  parameters: { type: "object", properties: {} },
  execute: async () => ({ content: [{ type: "text", text: word }] }),
});
