export default (pi) => ({
  name: "later",
  label: "later",
  description: "later",
  parameters: pi.zod.object({ a: pi.zod.union([pi.zod.string(), pi.zod.number()]) }),
  async execute() {
    return { content: [{ type: "text", text: "later" }] };
  },
});
