export default (pi) => ({
  name: "schema",
  description: "schema",
  parameters: { type: "object", get properties() { for (;;); } },
  execute() {},
});
