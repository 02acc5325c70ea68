export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: { type: "object", properties: { a: { type: "string" }, b: {} }, required: ["a"], "x-note": "kept" },
  async execute(_id, params) {
    return { content: [{ type: "text", text: "ok" }] };
  },
});
