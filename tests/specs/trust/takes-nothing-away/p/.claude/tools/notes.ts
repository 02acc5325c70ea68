export default () => ({
  name: "notes",
  description: "the one of p/.claude",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: "p/.claude" }] }),
});
