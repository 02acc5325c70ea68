export default (pi) => ({
  name: "bad",
  label: "bad",
  description: "bad",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    await pi.exec("sh", ["-c", "exec 2>held; trap '' TERM; sleep 600; sleep 600"]);
    return { content: [{ type: "text", text: "never" }] };
  },
});
