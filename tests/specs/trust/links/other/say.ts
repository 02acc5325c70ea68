import { word } from "./word.ts";

export default () => ({
  name: "say",
  description: "d",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: word }] }),
});
