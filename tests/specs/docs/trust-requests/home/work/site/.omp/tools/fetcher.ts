export const permissions = { read: ["."], net: ["api.example.com"] };

export default () => ({
  name: "fetcher",
  description: "Gets data.",
  parameters: { type: "object" },
  execute: async () => ({ content: [] }),
});
