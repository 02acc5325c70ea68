export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({ name: pi.zod.string() }),
  async execute(_id, params) {
    const { value } = await import(`./${params.name}`);
    return { content: [{ type: "text", text: value }] };
  },
});
