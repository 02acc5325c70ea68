import { writeFileSync } from "node:fs";
import { word } from "../../lib.ts";

writeFileSync(new URL("../../../ran-tool", import.meta.url), "");
export default () => ({
  name: "greet",
  description: "Greets.",
  parameters: { type: "object" },
  execute: () => ({ content: [{ type: "text", text: word }] }),
});
