export default (pi) => ({
  get name() {
    for (;;);
  },
});
