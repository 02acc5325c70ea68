const tool = (name: string, parameters: unknown, more = {}) => ({
  name,
  description: name,
  parameters,
  execute: async () => ({ content: [] }),
  ...more,
});

export default () => [
  tool("plain", {
    type: "object",
    properties: {
      text: { type: "string", minLength: 3, format: "uri", description: "Where" },
      count: { type: ["integer", "null"], exclusiveMinimum: 0 },
      kind: { const: "a" },
      tags: { type: "array", items: { type: "string" }, default: [] },
    },
    required: ["text"],
  }),
  tool("either", {
    anyOf: [
      {
        type: "object",
        properties: { kind: { const: "file" }, path: { type: "string" } },
        required: ["kind", "path"],
      },
      {
        type: "object",
        properties: { kind: { const: "text" }, text: { type: "string" } },
        required: ["kind", "text"],
      },
    ],
  }),
  tool("tree", {
    type: "object",
    properties: { root: { $ref: "#/$defs/Node", description: "The first" } },
    required: ["root"],
    $defs: {
      Node: {
        type: "object",
        properties: {
          name: { type: "string" },
          children: { type: "array", items: { $ref: "#/$defs/Node" } },
        },
        required: ["name"],
      },
    },
  }),
  tool("record", {
    type: "object",
    properties: { values: { type: "object", additionalProperties: { type: "number" } } },
  }),
  tool("with.a.dot/and more", { type: "object", properties: {} }),
  tool("named", {
    type: "object",
    properties: { "$filter": { type: "string" }, "a name": { type: "string" } },
    required: ["a name"],
  }),
];
