export default () => ({
  name: "weather",
  description: "Says how warm it is.",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  execute: async (_id, { city }) => ({ content: [{ type: "text", text: `${city}: 3°` }] }),
});
