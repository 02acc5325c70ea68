const tool = (name: string, parameters: unknown) => ({
  name,
  description: name,
  parameters,
  async execute(_id: string, params: unknown) {
    return { content: [{ type: "text" as const, text: JSON.stringify(params) }] };
  },
});

export default () => [
  tool("linked", {
    type: "object",
    properties: {
      anchor: { $ref: "#text" },
      dynamic: { $dynamicRef: "#word" },
      encoded: { $ref: "#/$defs/a%20text" },
      cyclic: { $ref: "#/$defs/cycle" },
    },
    $defs: {
      anchored: { $anchor: "text", type: "string" },
      dynamic: { $dynamicAnchor: "word", type: "string" },
      "a text": { type: "string" },
      cycle: { anyOf: [{ $ref: "#/$defs/cycle" }, { enum: ["a", "b"] }] },
    },
  }),
  tool("joined", {
    type: "object",
    properties: {
      word: { type: "string", allOf: [{ pattern: "^a" }, { pattern: "z$" }] },
      any: { description: "Anything" },
      either: { pattern: "^b", anyOf: [{ type: "string", pattern: "y$" }, { type: "integer" }] },
    },
    dependentSchemas: { word: { properties: { kind: { const: 1 } } } },
  }),
  tool("dangling", {
    type: "object",
    properties: { free: { type: "string" }, bound: { $dynamicRef: "#nowhere" } },
  }),
  // A schema that is only a value is not the target of a reference.
  tool("constant", {
    type: "object",
    properties: { free: { const: { $anchor: "value" } }, bound: { $ref: "#value" } },
  }),
];
