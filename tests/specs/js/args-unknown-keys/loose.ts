export default (pi) => ({
  name: "loose",
  label: "loose",
  description: "loose",
  parameters: pi.zod.object({ in: pi.zod.object({ b: pi.zod.number() }).passthrough() }),
  async execute(_id, params) {
    return { content: [{ type: "text", text: JSON.stringify(params) }] };
  },
});
