export default (pi) => [
  {
    name: "late",
    description: "Runs a script whose background processes write after its end.",
    parameters: pi.zod.object({ script: pi.zod.string(), timeout: pi.zod.number().optional() }),
    async execute(_id, { script, timeout }) {
      const { stdout, stderr, code, killed } = await pi.exec("bash", ["-c", script], { timeout });
      const text = JSON.stringify({ stdout, stderr, code, killed });
      return { content: [{ type: "text", text }] };
    },
  },
];
