export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    const needed = ["Text", "Container", "Spacer", "Markdown", "Box", "StringEnum", "getMarkdownTheme"];
    const schema = pi.pi.StringEnum(["a", "b"], { description: "one", default: "a" });
    return { content: [{ type: "text", text: `${needed.filter((name) => typeof pi.pi[name] !== "function").join() || "complete"} ${schema.enum.join("|")} ${schema.default}` }] };
  },
});
