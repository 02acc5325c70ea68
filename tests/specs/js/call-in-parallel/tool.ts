const waiting = new Map<string, () => void>();

export default (pi) => ({
  name: "meet",
  label: "meet",
  description: "meet",
  parameters: pi.zod.object({ me: pi.zod.string(), other: pi.zod.string() }),
  async execute(_id, params) {
    const { me, other } = params;
    waiting.get(other)?.();
    if (me === "first") await new Promise<void>((done) => waiting.set(me, done));
    return { content: [{ type: "text", text: `${me} done` }] };
  },
});
