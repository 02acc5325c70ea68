import { count } from "../lib/count.ts";

export default () => ({
  name: "folder",
  description: "d",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: `counted ${count()}` }] }),
});
