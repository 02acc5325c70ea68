export default (pi) =>
  ["plain", "keyed"].map((name) => ({
    name,
    label: name,
    description: name,
    parameters: pi.zod.object({}),
    approval: name === "keyed" ? { tier: "exec", policyKey: "shell" } : "exec",
    async execute() {
      return { content: [{ type: "text", text: `${name} ran` }] };
    },
  }));
