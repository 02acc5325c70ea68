const says = (text, more = {}) => ({ content: [{ type: "text", text }], ...more });
const tool = (name, execute, more = {}) => ({ name, description: name, parameters: { type: "object" }, execute, ...more });

export default (pi) => [
  tool("count", async (_id, { to }, onUpdate) => {
    for (let at = 1; at <= to; at++) onUpdate(says(`${at} of ${to}`));
    return says("done");
  }),
  tool("hang", () => new Promise(() => {})),
  tool("deploy", async (_id, { to }) => says(`deployed ${to}`), {
    approval: { tier: "exec", override: true, reason: "touches production" },
    formatApprovalDetails: ({ to }) => [`target: ${to}`],
  }),
  tool("choose_name", async (_id, { names }) => {
    const name = await pi.ui.select("Which name?", names);
    pi.ui.notify(`The name is ${name}`, "info");
    return says(name, { details: { name, asked: true } });
  }),
];
