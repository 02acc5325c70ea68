export default (pi) => ({
  name: "bad",
  label: "bad",
  description: "bad",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    const deeper = (n: number): number => deeper(n + 1) + 1;
    return { content: [{ type: "text", text: String(deeper(0)) }] };
  },
});
