export default (pi) => ({
  name: "zebra",
  label: "zebra",
  description: "zebra",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
