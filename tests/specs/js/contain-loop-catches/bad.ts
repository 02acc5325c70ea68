export default (pi) => ({
  name: "bad",
  label: "bad",
  description: "bad",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    for (;;) {
      try {
        for (;;) {}
      } catch {
        // Whatever is thrown at it, it goes on.
      } finally {
        for (;;) {}
      }
    }
  },
});
