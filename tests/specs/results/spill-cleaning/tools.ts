export default (pi) => ({
  name: "long",
  label: "Long",
  description: "Long.",
  parameters: pi.zod.object({}),
  async execute() {
    return { content: [{ type: "text", text: "z".repeat(100_000) }] };
  },
});
