export default (pi) => ({
  name: "modern",
  label: "modern",
  description: "modern",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
