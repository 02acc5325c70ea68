import { createRequire } from "node:module";
import { kind } from "faces";
import { kind as nested } from "faces/nested";
import { name } from "faces/features/sun";

const require = createRequire(import.meta.url);
const hidden = await import("faces/secret").then(() => "found", () => "refused");

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: [kind, require("faces").kind, nested, require("faces/nested").kind, name, hidden].join(" ") }] };
  },
});
