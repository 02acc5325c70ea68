const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, approval, execute) => ({
  name,
  description: `The tool ${name}`,
  approval,
  parameters: { type: "object", properties: { n: { type: "number" } } },
  execute,
});

export default () => [
  tool("double", "read", async (_id, { n }) => says(String(2 * n))),
  tool("save", "write", async (_id, { n }) => says(`saved ${n}`)),
  tool("fails", "read", async () => {
    throw new Error("it does not work");
  }),
];
