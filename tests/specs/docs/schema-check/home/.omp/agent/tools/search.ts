export default () => ({
  name: "search",
  description: "Finds things.",
  parameters: {
    type: "object",
    properties: { text: { type: "string", minLength: 1 }, kind: { const: "page" } },
    required: ["text"],
    additionalProperties: false,
  },
  execute: async () => ({ content: [] }),
});
