export default (pi) => [
  {
    name: "stage",
    label: "Stage",
    description: "Stages.",
    parameters: pi.zod.object({ label: pi.zod.string() }),
    async execute(_id, { label }) {
      pi.pushPendingAction({ label, apply: async () => ({ content: [{ type: "text", text: `applied ${label}` }] }) });
      return { content: [{ type: "text", text: "staged" }] };
    },
  },
  {
    name: "loops",
    label: "Loops",
    description: "Loops.",
    parameters: pi.zod.object({}),
    async execute() {
      for (;;);
    },
  },
];
