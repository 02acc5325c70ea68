import { createRequire } from "node:module";
import { relative } from "node:path";
import { all, mine } from "./all.cjs";

const made = createRequire(import.meta.url);
const missing = (work: () => unknown) => {
  try {
    return work();
  } catch (error: any) {
    return error.code;
  }
};

export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  async execute() {
    const same = JSON.stringify(all(require)) === JSON.stringify(mine()) && JSON.stringify(all(made)) === JSON.stringify(mine());
    const text = {
      all: all(require),
      same,
      resolved: ["./lib/h", "./lib/d", "@lib/h"].map((it) => relative(__dirname, require.resolve(it))),
      paths: relative(__dirname, require.resolve("./h", { paths: [`${__dirname}/lib`] })),
      alias: require("@lib/h").said,
      instance: require("./lib/h") === made("./lib/h.ts"),
      missing: [missing(() => require("./lib/nope")), missing(() => made("nope"))],
    };
    return { content: [{ type: "text", text: JSON.stringify(text) }] };
  },
});
