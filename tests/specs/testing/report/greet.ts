export default (pi) => ({
  name: "greet",
  description: "Greets",
  parameters: pi.zod.object({ name: pi.zod.string() }),
  async execute(_id, { name }, onUpdate) {
    onUpdate({ content: [{ type: "text", text: "thinking" }] });
    if (name === "Nemo") throw new Error("nobody is called Nemo");
    return { content: [{ type: "text", text: `Hello ${name}\nin ${pi.cwd}` }], details: { name, length: name.length } };
  },
});
