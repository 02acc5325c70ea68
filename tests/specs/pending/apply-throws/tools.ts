let attempts = 0;

export default (pi) => ({
  name: "stage",
  label: "Stage",
  description: "Stages.",
  parameters: pi.zod.object({}),
  async execute() {
    pi.pushPendingAction({
      label: "twice",
      async apply() {
        if (++attempts === 1) throw new Error("disk full");
        return { content: [{ type: "text", text: `worked at attempt ${attempts}` }] };
      },
    });
    pi.pushPendingAction({
      label: "stuck",
      apply: () => ({ content: [] }),
      reject() {
        throw new Error("cannot clean up");
      },
    });
    return { content: [{ type: "text", text: "staged" }] };
  },
});
