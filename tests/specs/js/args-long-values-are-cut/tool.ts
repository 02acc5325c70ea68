export default (pi) => ({
  name: "make",
  label: "make",
  description: "make",
  parameters: pi.zod.object({ text: pi.zod.string().max(5) }),
  async execute(_id, params) {
    return { content: [{ type: "text", text: JSON.stringify(params) }] };
  },
});
