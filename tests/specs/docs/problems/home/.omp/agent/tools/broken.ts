// Fails when it is loaded.
export default () => {
  throw new Error("boom")
}
