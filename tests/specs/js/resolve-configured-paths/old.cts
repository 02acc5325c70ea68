const tool: object = {
  name: "old",
  description: "old",
  parameters: {},
  execute: () => ({ content: [{ type: "text", text: "ok" }] }),
};
module.exports = () => tool;
