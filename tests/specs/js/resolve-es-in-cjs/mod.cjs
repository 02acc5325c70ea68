import { basename } from "node:path";
export const name = basename(__filename);
export default () => ({
  name: "cjs",
  description: "d",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: `${name} ${typeof require}` }] }),
});
