import { name } from "./mod.cjs";

export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: JSON.stringify([name, require("./mod.cjs").name, require("./mod.cts").default().name]) }] }),
});
