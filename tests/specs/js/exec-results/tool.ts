export default (pi) => ({
  name: "run",
  label: "run",
  description: "run",
  parameters: pi.zod.object({
    command: pi.zod.string(),
    args: pi.zod.array(pi.zod.any()).default([]),
    options: pi.zod.any().optional(),
  }),
  async execute(_id, params) {
    const { command, args, options } = params;
    const result = await pi.exec(command, args, options);
    return { content: [{ type: "text", text: JSON.stringify(result) }] };
  },
});
