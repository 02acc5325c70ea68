export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({ a: pi.zod.number() }),
  async execute(_id, params, onUpdate, ctx, signal) {
    const members = ["sessionManager", "modelRegistry", "model", "isIdle", "hasQueuedMessages", "abort", "settings", "autoApprove", "fetch", "cwd"];
    const text = [
      _id,
      arguments.length,
      JSON.stringify(params),
      typeof onUpdate,
      signal instanceof AbortSignal && !signal.aborted,
      `missing: ${members.filter((member) => !(member in ctx)).join() || "none"}`,
      JSON.stringify([ctx.sessionManager.getBranch(), ctx.sessionManager.getEntries()]),
      this.name,
    ].join(" ");
    return { content: [{ type: "text", text }] };
  },
});
