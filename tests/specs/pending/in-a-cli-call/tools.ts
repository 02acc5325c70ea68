export default (pi) => ({
  name: "stage",
  label: "Stage",
  description: "Stages.",
  parameters: pi.zod.object({}),
  async execute() {
    pi.pushPendingAction({ label: "one", apply: async () => ({ content: [] }) });
    return { content: [{ type: "text", text: "staged" }] };
  },
});
