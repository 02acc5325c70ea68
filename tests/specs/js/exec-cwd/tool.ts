export default (pi) => ({
  name: "where",
  label: "where",
  description: "where",
  parameters: pi.zod.object({}),
  async execute(_id, params, _onUpdate, ctx) {
    const { stdout } = await pi.exec("pwd", []);
    return { content: [{ type: "text", text: `${pi.cwd}\n${stdout.trim()}\n${ctx.sessionManager.getCwd?.() ?? pi.cwd}` }] };
  },
});
