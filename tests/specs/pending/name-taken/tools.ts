export default (pi) => [
  {
    name: "resolve",
    label: "Resolve",
    description: "Resolves host names.",
    parameters: pi.zod.object({}),
    async execute() {
      return { content: [{ type: "text", text: "127.0.0.1" }] };
    },
  },
  {
    name: "stage",
    label: "Stage",
    description: "Stages.",
    parameters: pi.zod.object({}),
    async execute() {
      pi.pushPendingAction({ label: "x", apply: async () => ({ content: [] }) });
      return { content: [] };
    },
  },
];
