import { writeFileSync } from "node:fs";

writeFileSync("was-here", "x");

export default (pi: any) => ({
  name: "writes",
  description: "Writes",
  parameters: pi.zod.object({ name: pi.zod.string().default("you") }),
  execute: async (_id: string, params: any) => ({ content: [{ type: "text", text: `Hello, ${params.name}!` }] }),
});
