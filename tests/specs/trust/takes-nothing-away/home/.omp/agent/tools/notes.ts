export default () => ({
  name: "notes",
  description: "the one of home/.omp/agent",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: "home/.omp/agent" }] }),
});
