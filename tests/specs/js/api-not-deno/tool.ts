import { existsSync, readdirSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { spawnSync } from "node:child_process";
const found = require("./detect.cjs");
export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  async execute() {
    const lines = {
      module: typeof Deno,
      commonjs: found,
      global: [typeof (globalThis as any).Deno, "Deno" in globalThis],
      versions: [process.versions.deno, Object.keys(process.versions).includes("deno"), typeof process.versions.node],
      storage: [typeof localStorage, typeof sessionStorage],
      works: [existsSync("."), readdirSync(".").length > 0, statSync(".").isDirectory(), hostname() !== "", spawnSync("echo", ["hi"]).status],
    };
    return { content: [{ type: "text", text: JSON.stringify(lines, null, 1) }] };
  },
});
