export default () => ({
  name: "git_history",
  description: "The newest commits, newest first.",
  parameters: { type: "object" },
  execute: async () => ({ content: [] }),
});
