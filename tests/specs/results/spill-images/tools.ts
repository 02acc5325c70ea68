const image = { type: "image", data: Buffer.alloc(90_000).toString("base64"), mimeType: "image/png" };

export default (pi) => ({
  name: "pictures",
  label: "Pictures",
  description: "Pictures.",
  parameters: pi.zod.object({ size: pi.zod.number() }),
  async execute(_id, { size }) {
    const text = (letter: string) => ({ type: "text", text: letter.repeat(size) });
    return { content: [image, text("a"), image, text("b"), image] };
  },
});
