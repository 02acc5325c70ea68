const require = (name: string) => `own ${name}`;
enum module {
  exports = 7,
}

export default () => ({
  name: "own",
  description: "d",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: `${require("x")} ${module.exports}` }] }),
});
