export default (pi) => ({
  name: "alpha",
  label: "alpha",
  description: "alpha",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
