export default (pi) => ({
  name: "too_deep",
  label: "too_deep",
  description: "too_deep",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
