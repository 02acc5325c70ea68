import { createRequire } from "node:module";
import * as sqlite from "bun:sqlite";
import * as zod from "zod";
import { inner } from "./inner.cjs";

const required = createRequire(import.meta.url);

export default (pi: any) => ({
  name: "probe",
  description: "Requires what haft provides",
  parameters: pi.zod.object({}),
  async execute() {
    const computed = ["bun", "sqlite"].join(":");
    const found = {
      same: [required("zod").z === zod.z, require("zod") === required("zod"), required(computed).Database === sqlite.Database],
      inner,
      resolved: required.resolve("bun:sqlite"),
      installed: required("arktype").from,
      bun: typeof required("bun").which,
      missing: "",
    };
    try {
      required("bun:ffi");
    } catch (error: any) {
      found.missing = error.code;
    }
    return { content: [{ type: "text", text: JSON.stringify(found) }] };
  },
});
