const more = ["data"];
export const permissions = { read: more };

export default () => ({
  name: "computed",
  description: "d",
  parameters: { type: "object" },
  execute: () => ({ content: [{ type: "text", text: "ran" }] }),
});
