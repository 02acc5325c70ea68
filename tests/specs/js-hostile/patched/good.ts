export default (pi) => ({
  name: "good",
  label: "good",
  description: "good",
  parameters: pi.zod.object({ list: pi.zod.array(pi.zod.number()), name: pi.zod.string().optional() }),
  async execute(_id, { list }, onUpdate) {
    onUpdate({ content: [{ type: "text", text: "half" }] });
    return { content: [{ type: "text", text: `still here ${list.map((n) => n + 1)}` }], details: { list: { list } } };
  },
});
