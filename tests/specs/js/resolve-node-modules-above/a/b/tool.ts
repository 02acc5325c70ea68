import near from "thing";
import { up } from "@scope/above";
import inside from "@scope/above/lib/inside.js";
import data from "thing/data.json";

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: [near, up, inside, data.n].join(" ") }] };
  },
});
