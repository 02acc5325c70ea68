const says = (text, more = {}) => ({ content: [{ type: "text", text }], ...more });
const tool = (name, execute, more = {}) => ({ name, description: name, parameters: { type: "object" }, execute, ...more });

export default () => [
  tool("refuse", async () => says("no: not today", { isError: true })),
  tool("hang", () => new Promise(() => {})),
  tool("deploy", async () => says("deployed"), {
    parameters: { type: "object", properties: { to: { type: "string" } } },
    approval: { tier: "exec", policy: "deny", reason: "not on Fridays" },
  }),
  tool("count", async (_id, _params, onUpdate) => {
    onUpdate(says("1 of 2"));
    onUpdate(says("2 of 2"));
    return says("done");
  }),
];
