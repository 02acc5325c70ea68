export default () => ({
  name: "deploy",
  description: "Deploys the site.",
  parameters: { type: "object", properties: { to: { type: "string" } } },
  approval: { tier: "exec", reason: "touches production" },
  formatApprovalDetails: ({ to }) => [`target: ${to}`],
  execute: async (_id, { to }) => ({ content: [{ type: "text", text: `deployed ${to}` }] }),
});
