const started = (pi: any) => pi.exec("true", []);

export default async (pi: any) => (await started(pi), {
  name: "starts",
  description: "Starts",
  parameters: pi.zod.object({ name: pi.zod.string().default("you") }),
  execute: async (_id: string, params: any) => ({ content: [{ type: "text", text: `Hello, ${params.name}!` }] }),
});
