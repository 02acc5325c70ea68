export default (pi: any) => ({
  name: "random",
  description: `${Math.random() < 2}`,
  parameters: pi.zod.object({ name: pi.zod.string().default("you") }),
  execute: async (_id: string, params: any) => ({ content: [{ type: "text", text: `Hello, ${params.name}!` }] }),
});
