import { other } from "./other";

export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: other }] }),
});
