export default (pi) => ({
  name: "hidden",
  label: "hidden",
  description: "hidden",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
