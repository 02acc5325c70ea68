// The least that a tool can be: one parameter, one text.
export default (pi: any) => ({
  name: "echo",
  label: "Echo",
  description: "Says what it is told",
  parameters: pi.zod.object({ text: pi.zod.string() }),

  async execute(_callId: string, params: any) {
    return { content: [{ type: "text", text: params.text }] };
  },
});
