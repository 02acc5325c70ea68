const half = "cut \ud83d";
const tool = (name: string, more: object = {}) => ({
  name,
  label: name,
  description: "fine",
  parameters: { type: "object", properties: { text: { type: "string" } } },
  execute: (_id: string, params: any) => ({
    content: [{ type: "text", text: `${params.text ?? ""}|${half}|a\ud800b` }],
    details: { got: params.text, [half]: half, pair: "\ud83d\ude00", backslash: "\\ud800" },
  }),
  ...more,
});
export default (pi) => [
  tool("description", { description: half }),
  tool("label", { label: half }),
  tool(`name_${half.slice(4)}`),
  tool("schema", { parameters: { type: "object", properties: { text: { type: "string", description: half } }, default: { [half]: half } } }),
  tool("zod", { parameters: pi.zod.object({ text: pi.zod.string().describe(half).optional() }) }),
  tool("program", {
    execute: async () => ({ content: [{ type: "text", text: (await pi.exec("printf", ["%s", half])).stdout }] }),
  }),
  tool("thrown", { execute() { throw new Error(half); } }),
  tool("approval", { approval: () => ({ tier: "read", reason: half }), formatApprovalDetails: () => [half] }),
];
