export default (pi) => ({
  name: "bad",
  label: "bad",
  description: "bad",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    void Promise.reject(new Error("floating"));
    await new Promise((done) => setTimeout(done, 2000));
    return { content: [{ type: "text", text: "went on" }] };
  },
});
