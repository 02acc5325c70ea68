export default (pi) => ({
  name: "deploy",
  label: "Deploy",
  description: "Deploys.",
  parameters: pi.zod.object({ to: pi.zod.string() }),
  approval: { tier: "exec", policy: "deny", reason: "Fridays" },
  async execute() {
    return { content: [{ type: "text", text: "deployed" }] };
  },
});
