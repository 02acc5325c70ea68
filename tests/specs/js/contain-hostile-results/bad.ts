export default (pi) => ({
  name: "bad",
  label: "bad",
  description: "bad",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return new Proxy({}, { get() { throw new Error("do not look"); }, has: () => true, ownKeys: () => { throw new Error("nor here"); } }) as any;
  },
});
