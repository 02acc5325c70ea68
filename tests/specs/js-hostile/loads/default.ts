export default {
  get __esModule() {
    for (;;);
  },
};
