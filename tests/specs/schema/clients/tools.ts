const tool = (name: string, parameters: unknown, description = name) => ({
  name,
  description,
  parameters,
  execute: async () => ({ content: [] }),
});

const object = (properties: unknown) => ({ type: "object", properties });
const deep = (levels: number): unknown =>
  levels === 0
    ? { oneOf: [{ const: "a" }, { const: "b" }] }
    : object({ inner: deep(levels - 1), about: { type: "string", description: "x".repeat(1000) } });

export default () => [
  tool("fine", object({ a: { type: "string" } })),
  tool("names", object({ "ids[]": {}, "a b": {} })),
  tool("union", { anyOf: [object({ a: {} }), object({ b: {} })] }),
  tool(`long_${"x".repeat(51)}`, object({})),
  tool("wordy", object({}), "word ".repeat(500)),
  tool("deep", deep(4)),
  { ...tool("declares", object({})), outputSchema: object({ n: { type: "number" } }) },
];
