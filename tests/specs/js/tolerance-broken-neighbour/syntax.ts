export default () => {
  const = 5;
};
