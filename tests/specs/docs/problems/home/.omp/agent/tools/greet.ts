export default (pi) => ({
  name: "greet",
  description: "Greets somebody by name.",
  parameters: pi.zod.object({ name: pi.zod.string() }),
  async execute(_id, { name }) {
    return { content: [{ type: "text", text: `Hello, ${name}!` }] };
  },
});
