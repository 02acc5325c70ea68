export default () => ({
  name: "report",
  description: "Writes the report.",
  parameters: { type: "object" },
  async execute() {
    const format = process.env.REPORT_FORMAT ?? "pdf";
    const { write } = await import(`../../plugins/${format}.ts`);
    return { content: [{ type: "text", text: write() }] };
  },
});
