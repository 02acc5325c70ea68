const tool = (name, approval) => ({
  name,
  label: name,
  description: "d",
  parameters: { type: "object" },
  approval,
  execute: async () => ({ content: [{ type: "text", text: `${name} ran` }] }),
});
export default () => [
  tool("writes", "write"),
  tool("executes", "exec"),
  tool("careful", { tier: "exec", override: true }),
];
