export default (pi) => ({
  name: "wait",
  label: "wait",
  description: "wait",
  parameters: pi.zod.object({}),
  async execute(_id, _params, onUpdate) {
    onUpdate({ content: [{ type: "text", text: "waiting" }] });
    await new Promise(() => {});
  },
});
