import { readFileSync, writeFileSync } from "node:fs";

export default (pi: any) => ({
  name: "edit",
  description: "Edits",
  parameters: pi.zod.object({ name: pi.zod.array(pi.zod.string()) }),
  execute: async (_id: string, params: any) => {
    const text = readFileSync("subject.ts", "utf8").replace(params.name[0], params.name[1]);
    writeFileSync("subject.ts", text);
    return { content: [{ type: "text", text: "edited" }] };
  },
});
