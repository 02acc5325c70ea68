const text = (text: string, marks: object) => ({ type: "text", text, ...marks });
const circular: Record<string, unknown> = { a: 1 };
circular["self"] = circular;

const results: Record<string, unknown[]> = {
  kept: [
    text("a", { annotations: { audience: ["user"], priority: 0.5, lastModified: "2026-01-01T00:00:00Z" } }),
    text("b", { _meta: { "example/a": [1, { b: null }] }, annotations: {} }),
    { type: "image", data: "AAAA", mimeType: "image/gif", annotations: { priority: 1 } },
    { type: "audio", data: "AAAA", mimeType: "audio/wav", annotations: { audience: [] } },
    { type: "resource", resource: { uri: "x:1", text: "t" }, _meta: {} },
    { type: "resource_link", uri: "x:2", name: "n", annotations: { priority: 0 }, _meta: { n: 1 } },
  ],
  invalid: [
    text("a", { annotations: { audience: ["user", "nobody", 7], priority: 2, colour: "red" } }),
    text("b", { annotations: ["user"], _meta: "text" }),
    text("c", { annotations: null, _meta: [1] }),
    text("d", { annotations: { priority: Number.NaN, lastModified: 5 }, _meta: new Map([["a", 1n]]) }),
    text("e", { _meta: circular }),
  ],
  throwing: [
    {
      type: "text",
      text: "a",
      get annotations(): never {
        throw new Error("not today");
      },
    },
  ],
};

export default (pi) => ({
  name: "mark",
  label: "mark",
  description: "Marks blocks",
  parameters: pi.zod.object({ which: pi.zod.string() }),
  execute: async (_id, { which }) => ({ content: results[which] }) as any,
});
