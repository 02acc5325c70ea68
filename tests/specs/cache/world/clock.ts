export default (pi: any) => ({
  name: "clock",
  description: `It is ${new Date().getFullYear() > 2000 ? "late" : "early"}`,
  parameters: pi.zod.object({ name: pi.zod.string().default("you") }),
  execute: async (_id: string, params: any) => ({ content: [{ type: "text", text: `Hello, ${params.name}!` }] }),
});
