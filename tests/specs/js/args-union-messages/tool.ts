const tool = (name: string, parameters: unknown) => ({
  name,
  description: name,
  parameters,
  async execute(_id: string, params: unknown) {
    return { content: [{ type: "text" as const, text: JSON.stringify(params) }] };
  },
});

export default (pi: any) => {
  const { Type } = pi.typebox;
  const object = (properties: object, required: string[] = []) => ({
    type: "object",
    properties,
    required,
  });
  return [
    tool("literals", Type.Object({ k: Type.Union([Type.Literal("a"), Type.Literal("b")]) })),
    tool("enumeration", Type.Object({ k: Type.Enum({ One: "one", Two: 2 }), other: Type.String() })),
    tool("mixed", object({ k: { anyOf: [{ const: "auto" }, { type: "number" }, { type: "null" }] } })),
    tool("sized", object({ k: { anyOf: [{ const: "auto" }, { type: "string", minLength: 5 }] } })),
    tool(
      "kinds",
      object({
        shape: {
          oneOf: [
            object({ kind: { const: "circle" }, radius: { type: "number" } }, ["kind", "radius"]),
            object({ kind: { const: "box" }, sides: { type: "array", items: { type: "number" } } }, ["kind", "sides"]),
          ],
        },
      }, ["shape"]),
    ),
    tool("forms", {
      type: "object",
      properties: { url: { type: "string" }, path: { type: "string" } },
      anyOf: [{ required: ["url"] }, { required: ["path"] }],
    }),
    tool("limits", {
      ...object({
        low: { type: "integer", minimum: 1, maximum: 9 },
        name: { type: "string", minLength: 2, maxLength: 4, pattern: "^[a-z]+$" },
        list: { type: "array", minItems: 2, uniqueItems: true, items: { type: ["string", "null"] } },
        not: { not: { enum: ["x", "y"] } },
        step: { type: "number", multipleOf: 5 },
        flag: { type: "boolean" },
        long: { type: "string", enum: ["short"] },
      }, ["low", "gone"]),
      propertyNames: { pattern: "^[a-z]+$" },
    }),
  ];
};
