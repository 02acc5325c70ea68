const tool = (pi, name: string, approval: unknown) => ({
  name,
  label: name,
  description: name,
  parameters: pi.zod.object({ n: pi.zod.number() }),
  approval,
  async execute() {
    return { content: [{ type: "text", text: `${name} ran` }] };
  },
});

export default (pi) => [
  tool(pi, "looks", "read"),
  tool(pi, "writes", "write"),
  tool(pi, "runs", "exec"),
  tool(pi, "silent", undefined),
  tool(pi, "odd", "delete"),
  tool(pi, "forbidden", { tier: "read", policy: "deny", reason: "not in this house" }),
  tool(pi, "forbidden_silently", { tier: "read", policy: "deny" }),
  tool(pi, "free", { tier: "exec", policy: "allow", override: true }),
  tool(pi, "asks", { tier: "read", policy: "prompt" }),
  tool(pi, "insists", { tier: "read", override: true }),
];
