export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params, onUpdate, ctx, signal) {
    onUpdate({ content: [{ type: "text", text: "\u001b[1mone\u001b[0m" }], details: { n: 1 } });
    onUpdate({ content: "bad" } as any);
    await null;
    onUpdate({ content: [{ type: "text", text: "three" }] });
    return { content: [{ type: "text", text: "result" }] };
  },
});
