const tool = (pi, name: string, approval: unknown) => ({
  name,
  label: name,
  description: name,
  parameters: pi.zod.object({ path: pi.zod.string().default("/tmp/x") }),
  approval,
  async execute(_id, params) {
    return { content: [{ type: "text", text: `${name} ran on ${params.path}` }] };
  },
});

export default (pi) => [
  tool(pi, "by_path", ({ path }) => (path.startsWith("/tmp/") ? "read" : { tier: "write", policy: "deny", reason: path })),
  tool(pi, "throws", () => {
    throw new Error("no idea");
  }),
  tool(pi, "nonsense", () => 42),
  tool(pi, "promises", async () => "read"),
  {
    ...tool(pi, "gets", undefined),
    get approval() {
      return { tier: "read", get reason() { throw new Error("no reason"); } };
    },
  },
  {
    ...tool(pi, "changes", undefined),
    get approval() {
      return "read";
    },
  },
  { ...tool(pi, "uses_this", undefined), tier: "read", approval() { return this.tier; } },
];
