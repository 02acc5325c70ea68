export default (pi) => ({
  name: "bad",
  label: "bad",
  description: "bad",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    setTimeout(() => {
      throw new Error("from a timer");
    }, 0);
    await new Promise((done) => setTimeout(done, 5));
    return { content: [{ type: "text", text: "went on" }] };
  },
});
