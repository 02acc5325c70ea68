export default (pi) => ({
  name: "bad",
  label: "bad",
  description: "bad",
  parameters: pi.zod.object({ when: pi.zod.date() }),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
