const mark = (pi: any) => (pi.mark = "marked");

export default (pi: any) => (mark(pi), {
  name: "api",
  description: "Changes pi",
  parameters: pi.zod.object({ name: pi.zod.string().default("you") }),
  execute: async (_id: string, params: any) => ({ content: [{ type: "text", text: `Hello, ${params.name}!` }] }),
});
