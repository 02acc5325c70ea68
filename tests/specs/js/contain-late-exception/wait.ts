export default (pi) => ({
  name: "wait",
  label: "wait",
  description: "wait",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    await new Promise((done) => setTimeout(done, 20));
    return { content: [{ type: "text", text: "waited" }] };
  },
});
