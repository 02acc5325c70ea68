export default (pi) => ({
  name: "plain",
  label: "plain",
  description: "plain",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
