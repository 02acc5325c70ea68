export default (pi) => ({
  name: "greet",
  label: "Greet",
  description: "Greets somebody by name.",
  parameters: pi.zod.object({
    name: pi.zod.string().describe("who to greet"),
    times: pi.zod.number().int().default(1),
    tags: pi.zod.array(pi.zod.string()).optional(),
  }),
  async execute(_id, { name, times }) {
    return { content: [{ type: "text", text: `Hello, ${name}!`.repeat(times) }] };
  },
});
