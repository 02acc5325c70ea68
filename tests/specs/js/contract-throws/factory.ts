export default () => {
  throw new TypeError("no key");
};
