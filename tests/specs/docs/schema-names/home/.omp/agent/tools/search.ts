export default () => ({
  name: "search",
  description: "Finds things by their ids.",
  parameters: { type: "object", properties: { "ids[]": { type: "array", items: { type: "string" } } }, required: ["ids[]"] },
  execute: async () => ({ content: [] }),
});
