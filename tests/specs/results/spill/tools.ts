const text = (text: string) => ({ content: [{ type: "text", text }], details: { kept: "x".repeat(60 * 1024) } });

export default (pi) => ({
  name: "print/all",
  label: "Print",
  description: "Prints.",
  parameters: pi.zod.object({ what: pi.zod.string() }),
  async execute(_id, { what }) {
    if (what === "just enough") return text("x".repeat(46 * 1024));
    if (what === "one line") return text("y".repeat(46 * 1024 + 1));
    if (what === "wide") return text("ü€".repeat(40 * 1024));
    return text(Array.from({ length: 20000 }, (_, n) => `line ${n + 1}`).join("\n"));
  },
});
