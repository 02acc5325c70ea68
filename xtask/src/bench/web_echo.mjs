// The least that a tool can be, for haft and for Express.
export default (pi) => ({
  name: "echo",
  label: "Echo",
  description: "Says what it is told",
  parameters: pi.zod.object({ text: pi.zod.string() }),

  async execute(_callId, params) {
    return { content: [{ type: "text", text: params.text }] };
  },
});
