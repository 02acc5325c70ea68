const tool = (name: string, parameters: unknown) => ({
  name,
  description: name,
  parameters,
  async execute(_id: string, params: unknown) {
    return { content: [{ type: "text" as const, text: JSON.stringify(params) }] };
  },
});

export default () => [
  tool("odd", {
    type: "object",
    properties: {
      "ids[]": { type: "array", items: { type: "object", properties: { "@id": { type: "string" } }, required: ["@id"] } },
      "1st": { type: "number" },
      "a-name.with_all": { type: "string" },
    },
    required: ["ids[]"],
  }),
];
