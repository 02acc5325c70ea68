export default (pi) => ({
  name: "open",
  label: "open",
  description: "open",
  parameters: pi.zod.object({ a: pi.zod.number(), in: pi.zod.object({ b: pi.zod.number() }) }),
  async execute(_id, params) {
    return { content: [{ type: "text", text: JSON.stringify(params) }] };
  },
});
