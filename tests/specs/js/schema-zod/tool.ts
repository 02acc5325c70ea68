export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({
    a: pi.zod.string().describe("first"),
    b: pi.zod.number().int().min(1).optional(),
    c: pi.zod.enum(["x", "y"]).default("x"),
    d: pi.zod.array(pi.zod.object({ e: pi.zod.boolean() })).optional(),
    f: pi.zod.record(pi.zod.string(), pi.zod.unknown()).optional(),
  }),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
