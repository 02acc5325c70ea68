export default (pi) => ({
  name: "strict",
  label: "strict",
  description: "strict",
  parameters: pi.zod.strictObject({ a: pi.zod.number() }),
  async execute(_id, params) {
    return { content: [{ type: "text", text: JSON.stringify(params) }] };
  },
});
