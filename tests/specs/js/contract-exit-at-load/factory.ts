export default () => {
  process.exit(4);
};
