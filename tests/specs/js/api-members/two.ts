export default (pi) => ({
  name: "note",
  label: "note",
  description: "note",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: pi.note }] };
  },
});
