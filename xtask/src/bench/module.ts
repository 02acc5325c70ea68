// One of the generated modules: as long as people's tools are, with parameters of every kind.
import { basename } from "node:path";

interface Found {
  file: string;
  score: number;
}

export default (pi: any) => ({
  name: "tool_NUMBER",
  label: "Tool NUMBER",
  description: "Ranks the files of a folder by how well they fit a question (number NUMBER)",
  parameters: pi.zod.object({
    question: pi.zod.string().min(1).describe("what to look for"),
    folder: pi.zod.string().optional().default(".").describe("where to look"),
    limit: pi.zod.number().int().min(1).max(50).optional().default(10),
    order: pi.zod.enum(["score", "name", "age"]).optional().default("score"),
    kinds: pi.zod.array(pi.zod.string()).optional(),
    exact: pi.zod.boolean().optional().default(false),
  }),

  async execute(_callId: string, params: any) {
    const found: Found[] = [{ file: basename(`${params.folder}/readme.md`), score: params.limit }];
    const text = found.map(({ file, score }) => `${file} ${score}`).join("\n");
    return { content: [{ type: "text", text }], details: { found } };
  },
});
