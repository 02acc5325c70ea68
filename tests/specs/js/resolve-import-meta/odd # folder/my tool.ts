import { basename } from "node:path";
import { fileURLToPath } from "node:url";

const { url, dirname, filename, dir, file, path, main } = import.meta;
const facts = {
  url: fileURLToPath(url) === filename,
  filename: basename(filename),
  dirname: basename(dirname),
  dir: dir === dirname,
  file,
  path: path === filename,
  main,
  resolve: import.meta.resolve("./other.ts") === new URL("./other.ts", url).href,
  builtin: import.meta.resolve("node:fs"),
};

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: JSON.stringify(facts) }] };
  },
});
