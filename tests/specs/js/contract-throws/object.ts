export default () => {
  throw { message: "lost" };
};
