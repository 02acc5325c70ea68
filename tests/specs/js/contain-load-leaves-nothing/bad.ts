setInterval(() => {}, 1000);
process.on("exit", () => {});
process.stdin.resume();

export default (pi) => ({
  name: "bad",
  label: "bad",
  description: "bad",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: "done" }] };
  },
});
