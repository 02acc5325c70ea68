export default (pi: any) => ({
  name: "live",
  get description() {
    return "computed";
  },
  parameters: pi.zod.object({ name: pi.zod.string().default("you") }),
  execute: async (_id: string, params: any) => ({ content: [{ type: "text", text: `Hello, ${params.name}!` }] }),
});
