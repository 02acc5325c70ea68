const tool = (name: string, properties: unknown, rest = {}) => ({
  name,
  description: name,
  parameters: { type: "object", properties, ...rest },
  async execute(_id: string, params: unknown) {
    return { content: [{ type: "text" as const, text: JSON.stringify(params) }] };
  },
});

export default () => [
  tool("pattern", { a: { type: "string", pattern: "[" }, b: { type: "number" } }),
  tool("python", { a: { type: "string", pattern: "\\Aab\\Z" } }),
  tool("nowhere", { a: { $ref: "#/$defs/none" } }),
  tool("web", { a: { $ref: "https://example.com/s.json" } }),
  tool("required", { s: {} }, { required: "s" }),
  tool("enumeration", { a: { enum: "x", minLength: "x" } }),
  tool("items", { a: { type: "array", items: "string" } }),
  tool("property", { a: "string" }),
  tool("twice", { a: {} }, { required: ["a", "a"] }),
];
