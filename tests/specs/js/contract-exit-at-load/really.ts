export default () => {
  process.reallyExit(5);
};
