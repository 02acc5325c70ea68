export default (pi) => ({
  name: "shape",
  label: "shape",
  description: "shape",
  parameters: pi.zod.object({ shape: pi.zod.string() }),
  async execute(_id, params) {
    const shapes: Record<string, unknown> = {
      undefined: undefined,
      null: null,
      string: "text",
      no_content: { details: { kept: 1 } },
      content_string: { content: "text" },
      blocks: { content: [{ type: "text", text: "good" }, { type: "video" }, null, { type: "text" }] },
      silent: { content: [], isError: true },
      extra: { content: [{ type: "text", text: "x", colour: "red" }], useless: true, more: 1 },
      no_details: { content: [] },
      details: { content: [], details: [1, { a: null }] },
      image: { content: [{ type: "image", data: "AAAA", mimeType: "image/gif" }] },
    };
    return shapes[params.shape] as any;
  },
});
