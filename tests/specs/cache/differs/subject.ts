export default (pi: any) => ({
  name: "subject",
  description: "First",
  parameters: pi.zod.object({ name: pi.zod.string().default("you") }),
  approval: "read",
  execute: async (_id: string, params: any) => ({ content: [{ type: "text", text: `Hello, ${params.name}!` }] }),
});
