export default (pi: any) => ({
  name: "after",
  description: `sees ${(globalThis as any).shared ?? pi.mark ?? "nothing"}`,
  parameters: pi.zod.object({ name: pi.zod.string().default("you") }),
  execute: async (_id: string, params: any) => ({ content: [{ type: "text", text: `Hello, ${params.name}!` }] }),
});
