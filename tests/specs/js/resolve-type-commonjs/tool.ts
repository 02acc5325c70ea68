import { join } from "node:path";
import { helper } from "./helper.js";
import { typed } from "./typed";

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: [join("a", "b"), helper, typed].join(" ") }] };
  },
});
