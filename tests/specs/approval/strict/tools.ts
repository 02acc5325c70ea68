const tool = (name: string, approval: unknown) => ({
  name,
  label: name,
  description: name,
  parameters: { type: "object" },
  approval,
  async execute() {
    return { content: [{ type: "text", text: `${name} ran` }] };
  },
});

export default () => [
  tool("allows", { tier: "exec", policy: "allow" }),
  tool("allows_later", () => ({ tier: "exec", policy: "allow" })),
  tool("takes_back", { tier: "write", policy: "allow", override: true }),
  tool("borrows", { tier: "exec", policyKey: "harmless" }),
  tool("deploy", () => ({ tier: "exec", policyKey: "deploy.staging" })),
  tool("insists", { tier: "exec", override: true }),
  tool("asks", { tier: "read", policy: "prompt" }),
];
