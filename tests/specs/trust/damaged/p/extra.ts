export default () => ({
  name: "extra",
  description: "Named by the project.",
  parameters: { type: "object", properties: {} },
  execute: async () => ({ content: [{ type: "text", text: "extra" }] }),
});
