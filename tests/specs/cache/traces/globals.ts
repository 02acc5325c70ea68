(globalThis as any).shared = 1;

export default (pi: any) => ({
  name: "globals",
  description: "Leaves a global",
  parameters: pi.zod.object({ name: pi.zod.string().default("you") }),
  execute: async (_id: string, params: any) => ({ content: [{ type: "text", text: `Hello, ${params.name}!` }] }),
});
