export default (pi) => ({
  name: "bad",
  label: "bad",
  description: "bad",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    setTimeout(() => {
      throw new Error("after the call");
    }, 0);
    setTimeout(() => Promise.reject(new Error("after it, too")), 0);
    return { content: [{ type: "text", text: "done" }] };
  },
});
