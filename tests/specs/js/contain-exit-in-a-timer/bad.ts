export default (pi) => ({
  name: "bad",
  label: "bad",
  description: "bad",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    process.exitCode = 9;
    setTimeout(() => process.exit(4), 0);
    await new Promise((done) => setTimeout(done, 20));
    return { content: [{ type: "text", text: "went on" }] };
  },
});
