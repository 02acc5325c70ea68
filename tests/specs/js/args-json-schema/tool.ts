export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: {
    type: "object",
    properties: {
      size: { type: "string", enum: ["s", "m"], default: "m" },
      box: { type: "object", properties: { wide: { type: "integer", default: 3 } }, default: {} },
      list: { type: "array", items: { $ref: "#/$defs/item" } },
    },
    required: ["list"],
    $defs: { item: { type: "object", properties: { id: { type: "integer" }, on: { type: "boolean", default: true } }, required: ["id"] } },
  },
  async execute(_id, params) {
    return { content: [{ type: "text", text: JSON.stringify(params) }] };
  },
});
