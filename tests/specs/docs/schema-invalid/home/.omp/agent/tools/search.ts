export default () => ({
  name: "search",
  description: "Finds things.",
  parameters: { type: "object", properties: { a: { type: "string", pattern: "[" } } },
  execute: async () => ({ content: [] }),
});
