export default (pi) => ({
  name: "empty",
  label: "empty",
  description: "empty",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
