export default (pi) => ({
  name: "broken",
  label: "broken",
  description: "broken",
  parameters: pi.zod.object({}),
  onSession() {
    throw new Error("not for me");
  },
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
