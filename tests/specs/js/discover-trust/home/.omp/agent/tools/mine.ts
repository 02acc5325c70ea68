export default (pi) => ({
  name: "mine",
  label: "mine",
  description: "mine",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
