export default (pi) => [
  { name: "greet", description: "Greets", parameters: pi.zod.object({ name: pi.zod.string() }),
    async execute(_id, { name }) { return { content: [{ type: "text", text: `Hello, ${name}!` }] }; } },
  { name: "harm", description: "Harms", parameters: pi.zod.object({}), approval: { policy: "deny", tier: "exec" },
    async execute() { return { content: [{ type: "text", text: "done" }] }; } },
];
