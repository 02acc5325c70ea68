export default (pi) => ({
  name: "space",
  label: "space",
  description: "space",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
