export default (pi) => ({
  name: "hang",
  label: "hang",
  description: "hang",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    await new Promise(() => {});
  },
});
