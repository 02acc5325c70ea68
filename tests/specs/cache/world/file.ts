import { readFileSync } from "node:fs";
import { join } from "node:path";

const name = ["prompt", "md"].join(".");

export default (pi: any) => ({
  name: "file",
  description: readFileSync(join(import.meta.dir, name), "utf8").trim(),
  parameters: pi.zod.object({ name: pi.zod.string().default("you") }),
  execute: async (_id: string, params: any) => ({ content: [{ type: "text", text: `Hello, ${params.name}!` }] }),
});
