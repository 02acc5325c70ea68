import { m as one } from "mo";
import { m as sub } from "mo/sub";
import { m as both } from "both";
import { m as index } from "index";

const code = encodeURIComponent('import { basename } from "path"; export const a = basename("/x/y"); export default 5');
const data = await import(`data:text/javascript,${code}`);
const base64 = await import("data:text/javascript;base64,ZXhwb3J0IGRlZmF1bHQgMg==");
const typed = await import("data:text/typescript,export default 3 as number");
const json = await import('data:application/json,{"four":4}', { with: { type: "json" } });
const failed = async (specifier: string) => {
  try {
    return await import(specifier);
  } catch (error: any) {
    return error.message.split(" imported from ")[0];
  }
};
const failures = [await failed("data:text/plain,hello"), await failed("strict/b.js").then((it) => /not defined|exported/.test(it)), await failed("none/sub")];
const here = new URL(".", import.meta.url).href;
const resolved = ["./nope.ts", "fs", "node:fs", "mo", "https://example.com/x"].map((it) => import.meta.resolve(it).replace(here, ""));

export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: JSON.stringify([one, sub, both, index, require("mo").m, data.a, data.default, base64.default, typed.default, json.default, failures, resolved]) }] }),
});
