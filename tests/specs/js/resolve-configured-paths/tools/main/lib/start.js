export default (pi) => ({
  name: "main_field",
  label: "main_field",
  description: "main_field",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
