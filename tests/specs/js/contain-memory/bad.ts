export default (pi) => ({
  name: "bad",
  label: "bad",
  description: "bad",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    const eaten: unknown[] = [];
    for (;;) eaten.push(new Array(10_000).fill(eaten.length));
  },
});
