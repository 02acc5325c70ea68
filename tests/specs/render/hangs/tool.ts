const tool = (name, renderers) => ({
  name,
  description: name,
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: "what it said" }] }),
  ...renderers,
});

export default () => [
  tool("loops", { renderCall: () => { for (;;); }, renderResult: () => ({ render: () => ["drawn all the same"] }) }),
  tool("waits", { renderResult: () => new Promise(() => {}) }),
];
