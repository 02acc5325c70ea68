export default (pi) => ({
  name: "repo_stats",
  label: "repo_stats",
  description: "repo_stats",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
