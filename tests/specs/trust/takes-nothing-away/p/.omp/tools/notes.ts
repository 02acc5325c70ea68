export default () => ({
  name: "notes",
  description: "the one of p/.omp",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: "p/.omp" }] }),
});
