import data from "./broken.txt" with { type: "yaml" };

export default () => ({
  name: "broken",
  description: "d",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: JSON.stringify(data) }] }),
});
