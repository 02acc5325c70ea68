export default () => ({
  name: "greet",
  description: "Greets",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: "hello" }] }),
});
