export default (pi) => ({
  name: "second",
  label: "second",
  description: "second",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
