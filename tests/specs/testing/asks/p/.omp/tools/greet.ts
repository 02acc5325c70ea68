import { writeFileSync } from "node:fs";
import { word } from "../../lib.ts";

writeFileSync(`${import.meta.dirname}/../../../ran-tool`, "");
export default () => ({
  name: "greet",
  description: "Greets.",
  parameters: { type: "object" },
  execute: () => ({ content: [{ type: "text", text: word }] }),
});
