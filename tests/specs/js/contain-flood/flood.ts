export default (pi) => ({
  name: "flood",
  label: "flood",
  description: "flood",
  parameters: pi.zod.object({}),
  async execute(_id, params, onUpdate, ctx, signal) {
    for (let n = 0; n < 200_000; n++) console.log(`line ${n} of a very talkative tool`);
    for (let n = 0; n < 20_000; n++) onUpdate({ content: [{ type: "text", text: `${n}` }] });
    return { content: [{ type: "text", text: "x".repeat(4_000_000) }] };
  },
});
