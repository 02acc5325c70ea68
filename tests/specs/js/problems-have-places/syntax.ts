// Line 1.
export default () => {
  const = 5;
};
