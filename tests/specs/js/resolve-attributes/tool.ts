import { basename } from "node:path"; import yaml from "./y.txt" with { type: "yaml" }; import { a as two } from "./t.txt" with { type: "toml" };
import jsonc from "./j.txt" with {
  type: "jsonc",
};
import file from "./y.txt" with { type: "file" };
import text from "./y.txt" with { type: "text" };
import plain from "./y.txt"; import image from "./img.png"; import blob from "./blob.unknown";
export { default as again } from "./y.txt" with { type: "yaml" };

const name = "./y";
const later = await import(`${name}.txt`, { with: { type: "yaml" } });
const paths = [file, image, blob].map((path) => basename(path));

export default () => ({
  name: "probe",
  description: "d",
  parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: JSON.stringify([yaml, two, jsonc, paths, text, plain, later.a]) }] }),
});
