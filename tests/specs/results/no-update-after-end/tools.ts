const say = (text: string) => ({ content: [{ type: "text", text }] });

export default (pi) => ({
  name: "count",
  label: "Count",
  description: "Counts.",
  parameters: pi.zod.object({ how: pi.zod.string() }),
  async execute(_id, { how }, onUpdate) {
    onUpdate(say("first"));
    if (how === "late") setTimeout(() => onUpdate(say("too late")), 20);
    if (how === "throws") setTimeout(() => onUpdate(null), 20);
    // Long enough for the timers of the calls before.
    if (how === "waits") await new Promise((done) => setTimeout(done, 60));
    if (how === "odd") onUpdate("not a result");
    if (how === "flood") for (let n = 0; n < 1000; n++) onUpdate(say(String(n)));
    return say("done");
  },
});
