export default (pi) => ({
  name: "greet",
  description: "Greets somebody by name.",
  parameters: pi.zod.object({
    name: pi.zod.string().describe("Whom to greet"),
    times: pi.zod.number().optional(),
  }),
  async execute(_id, { name }) {
    return { content: [{ type: "text", text: `Hello, ${name}!` }] };
  },
});
