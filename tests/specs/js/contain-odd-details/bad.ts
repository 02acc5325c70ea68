export default (pi) => ({
  name: "bad",
  label: "bad",
  description: "bad",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    const details: Record<string, unknown> = { big: 10n, call: () => 1 };
    details.self = details;
    return { content: [{ type: "text", text: "odd" }], details };
  },
});
