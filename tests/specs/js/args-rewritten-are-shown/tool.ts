export default (pi) => ({
  name: "make",
  label: "make",
  description: "make",
  parameters: pi.zod.object({ note: pi.zod.string().optional(), count: pi.zod.number() }),
  async execute(_id, params) {
    return { content: [{ type: "text", text: JSON.stringify(params) }] };
  },
});
