const mark = (pi: any) => pi.events.on("x", () => {});

export default (pi: any) => (mark(pi), {
  name: "events",
  description: "Listens",
  parameters: pi.zod.object({ name: pi.zod.string().default("you") }),
  execute: async (_id: string, params: any) => ({ content: [{ type: "text", text: `Hello, ${params.name}!` }] }),
});
