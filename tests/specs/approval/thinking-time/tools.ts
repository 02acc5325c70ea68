const tool = (pi, name: string, approval: string, execute: () => Promise<unknown>) => ({
  name,
  label: name,
  description: name,
  parameters: pi.zod.object({}),
  approval,
  execute,
});
const text = (text: string) => ({ content: [{ type: "text", text }] });
const time = (ms: number) => new Promise((done) => setTimeout(done, ms));

export default (pi) => [
  tool(pi, "deploy", "exec", async () => text("deployed")),
  tool(pi, "hang", "exec", () => time(60_000)),
  tool(pi, "think", "read", async () => {
    await time(500);
    return text("half a second later");
  }),
];
