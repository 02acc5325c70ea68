export default (pi) => ({
  name: "colours",
  label: "colours",
  description: "colours",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "\x1b[31mred\x1b[0m\ttab\r\nbell\x07\x00 ünï 🦀" }] };
  },
});
