// Runs one of the worst programs through `pi.exec`, as tools do: with the call's signal and a timeout.
export default (pi: any) => ({
  name: "worst",
  description: "Runs one of the worst programs",
  parameters: pi.zod.object({
    program: pi.zod.string(),
    args: pi.zod.array(pi.zod.string()),
    timeout: pi.zod.number().optional(),
    input: pi.zod.number(),
  }),

  async execute(_callId: string, params: any, onUpdate: any, _ctx: unknown, signal: AbortSignal) {
    onUpdate({ content: [{ type: "text", text: "runs" }] });
    const { program, args, timeout, input } = params;
    const options = { signal, timeout, input: "x".repeat(input) };
    const { code, killed, stdout, stderr } = await pi.exec(program, args, options);
    const details = { code, killed, stdout: stdout.length, stderr: stderr.length };
    return { content: [{ type: "text", text: "ended" }], details };
  },
});
