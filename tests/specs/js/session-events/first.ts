const events: string[] = [];

export default (pi) => ({
  name: "seen",
  label: "Seen",
  description: "the events so far",
  parameters: pi.zod.object({}),
  async execute(_id, _params, _onUpdate, ctx) {
    return { content: [{ type: "text", text: `${events.join(" ")} ${ctx.sessionManager.getEntries().length}` }] };
  },
  async onSession(event, ctx) {
    await new Promise((done) => setTimeout(done, 5));
    events.push(`${event.reason}:${ctx.sessionManager.getBranch().length}`);
  },
});
