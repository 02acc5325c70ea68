const tool = (name, renderers) => ({
  name,
  label: `The ${name}`,
  description: name,
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: "what it said" }] }),
  ...renderers,
});

export default () => [
  tool("throws", {
    renderCall() {
      throw new Error("no such picture");
    },
    renderResult(_result, _options, theme) {
      return { render: () => [theme.fg("nocolour", "x")] };
    },
  }),
  tool("shapes", { renderCall: () => "a text", renderResult: () => ({ render: () => "one line" }) }),
  tool("lines", { renderCall: () => ({ render: () => ["fine", 7] }), renderResult: () => ({}) }),
  tool("rejects", { renderCall: async () => { throw new TypeError("later"); } }),
  tool("odd", { renderCall: 7, renderResult: () => ({ render: () => ["one\ntwo", "three\r\n"] }) }),
];
