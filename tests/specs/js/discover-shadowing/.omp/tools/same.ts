export default (pi) => ({
  name: "first",
  label: "first",
  description: "first",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
