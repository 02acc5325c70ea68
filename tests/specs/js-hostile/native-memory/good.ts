export default (pi) => ({
  name: "good",
  label: "good",
  description: "good",
  parameters: pi.zod.object({}),
  async execute() {
    return { content: [{ type: "text", text: "still here" }] };
  },
});
