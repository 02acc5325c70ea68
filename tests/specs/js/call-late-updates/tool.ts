let late = (_partial: object) => {};

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params, onUpdate, ctx, signal) {
    late({ content: [{ type: "text", text: "from the call before" }] });
    late = onUpdate;
    return { content: [{ type: "text", text: "result" }] };
  },
});
