export default (pi) => {
  pi.note = "left by one";
  const expected = ["cwd", "exec", "ui", "hasUI", "logger", "typebox", "arktype", "zod", "pi", "pushPendingAction"];
  return {
    name: "members",
    label: "Members",
    description: "what a factory gets",
    parameters: pi.zod.object({}),
    execute: () => ({ content: [{ type: "text", text: `missing: ${expected.filter((key) => !(key in pi)).join() || "none"}` }] }),
  };
};
