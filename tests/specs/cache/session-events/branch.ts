export default (pi: any) => ({
  name: "branch",
  description: "Knows the branch",
  parameters: pi.zod.object({ name: pi.zod.string().default("you") }),
  execute: async (_id: string, params: any, _update: any, ctx: any) => ({ content: [{ type: "text", text: `${ctx.sessionManager.getBranch().length} of ${params.name}` }] }),
});
