let checks = 0;

export default (pi) => [
  {
    name: "deploy",
    label: "Deploy",
    description: "Deploys.",
    parameters: pi.zod.object({
      to: pi.zod.string().refine(() => ++checks),
      times: pi.zod.number().default(1),
    }),
    approval: () => ({ tier: "exec", reason: "touches \u001b[31mproduction" }),
    formatApprovalDetails: ({ to, times }) => [`target: ${to}`, `times: ${times}`],
    async execute(_id, { to }) {
      return { content: [{ type: "text", text: `deployed ${to} after ${checks} checks` }] };
    },
  },
  {
    name: "remove",
    label: "Remove",
    description: "Removes.",
    parameters: pi.zod.object({}),
    approval: "write",
    formatApprovalDetails() {
      throw new Error("no words");
    },
    async execute() {
      return { content: [{ type: "text", text: "removed" }] };
    },
  },
];
