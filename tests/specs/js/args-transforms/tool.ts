export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({
    word: pi.zod.string().trim().toUpperCase(),
    tags: pi.zod.preprocess((value) => (typeof value === "string" ? value.split(",") : value), pi.zod.array(pi.zod.string())),
    when: pi.zod.string().default(() => "later"),
  }),
  async execute(_id, params) {
    return { content: [{ type: "text", text: `${params.word} ${params.tags.join("|")} ${params.when}` }] };
  },
});
