export default () => ({
  name: "Bare Tool/2",
  description: "",
  parameters: { type: "object", properties: {} },
  execute: () => ({ content: [{ type: "text", text: "ok" }] }),
});
