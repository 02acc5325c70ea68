export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({
    list: pi.zod.array(pi.zod.number()).optional(),
    object: pi.zod.object({ deep: pi.zod.boolean() }).optional(),
    flag: pi.zod.boolean().optional(),
    count: pi.zod.number().int().optional(),
    text: pi.zod.string().optional(),
  }),
  async execute(_id, params) {
    return { content: [{ type: "text", text: JSON.stringify(params) }] };
  },
});
