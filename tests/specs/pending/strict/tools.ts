const text = (text: string, rest = {}) => ({ content: [{ type: "text", text }], ...rest });

export default (pi) => ({
  name: "stage",
  label: "Stage",
  description: "Stages.",
  parameters: pi.zod.object({ label: pi.zod.string(), how: pi.zod.string().optional() }),
  async execute(_id, { label, how }) {
    const said = { label, details: { dropped: true } };
    const apply = async (reason, extra) => text(`applied ${label}: ${reason} ${JSON.stringify(extra)}`, { details: { files: 2 } });
    if (how === "bad") pi.pushPendingAction({ label });
    else if (how === "silent") pi.pushPendingAction({ ...said, apply: async () => {} });
    else if (how === "named")
      pi.pushPendingAction({ ...said, sourceToolName: "stage", apply, reject: (reason) => text(`rejected ${label}: ${reason}`) });
    else pi.pushPendingAction({ ...said, apply });
    return text("staged");
  },
});
