const events: string[] = [];

export default (pi: any) => ({
  name: "seen",
  description: "Knows what happened",
  parameters: pi.zod.object({ name: pi.zod.string().default("you") }),
  onSession: (event: any) => void events.push(event.reason),
  execute: async (_id: string, params: any) => ({ content: [{ type: "text", text: `${events.join(" ") || "nothing"}; ${params.name}` }] }),
});
