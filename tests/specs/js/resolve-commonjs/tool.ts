import { basename } from "node:path";
import whole, { answer } from "./old.cjs";

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: JSON.stringify({ answer, whole: Object.keys(whole), esm: whole.esm, json: whole.json, cycle: whole.cycle, dir: basename(whole.dir), file: basename(whole.file), resolved: basename(whole.resolved), missing: whole.missing }) }] };
  },
});
