export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({ how: pi.zod.string() }),
  async execute(_id, params, onUpdate, ctx, signal) {
    onUpdate({ content: [{ type: "text", text: "started" }] });
    await new Promise((done) => signal.addEventListener("abort", done));
    if (params.how === "throws") throw new Error("stopped halfway");
    return { content: [{ type: "text", text: `had been told: ${signal.reason}` }] };
  },
});
