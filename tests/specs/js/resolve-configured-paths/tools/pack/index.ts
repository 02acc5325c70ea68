export default (pi) => ({
  name: "folder",
  label: "folder",
  description: "folder",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
