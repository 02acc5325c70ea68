export default (pi) => ({
  name: "mid",
  label: "mid",
  description: "mid",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
