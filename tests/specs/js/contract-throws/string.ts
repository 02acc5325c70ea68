export default () => {
  throw "plain";
};
