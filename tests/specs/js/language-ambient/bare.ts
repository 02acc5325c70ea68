const kind = typeof require;
const alias = require;

export default () => ({
  name: "bare",
  description: "d",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: `${kind} ${typeof alias("fs").readFileSync}` }] }),
});
