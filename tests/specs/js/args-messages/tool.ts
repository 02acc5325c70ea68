export default (pi) => ({
  name: "make",
  label: "make",
  description: "make",
  parameters: pi.zod.object({
    name: pi.zod.string(),
    sizes: pi.zod.array(pi.zod.object({ cm: pi.zod.number() })),
  }).refine((value) => value.name !== "root", "must not be root"),
  async execute(_id, params) {
    return { content: [{ type: "text", text: JSON.stringify(params) }] };
  },
});
