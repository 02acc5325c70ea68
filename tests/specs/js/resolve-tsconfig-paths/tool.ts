import { a } from "@lib/a";
import { b } from "@lib/deep/b.js";
import { c } from "exact";
import { d } from "second/d";
import { e } from "src/plain";

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: [a, b, c, d, e].join(" ") }] };
  },
});
