export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({
    left_out: pi.zod.string().optional(),
    word: pi.zod.string().optional(),
    allowed: pi.zod.string().nullable().optional(),
    defaulted: pi.zod.number().default(5),
  }),
  async execute(_id, params) {
    return { content: [{ type: "text", text: JSON.stringify(params) }] };
  },
});
