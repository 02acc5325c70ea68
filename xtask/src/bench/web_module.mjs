// One of the generated modules of the server cases: haft and Express import the same file.
export default (pi) => ({
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

  async execute(_callId, params) {
    return { content: [{ type: "text", text: `${params.folder} ${params.limit}` }] };
  },
});
