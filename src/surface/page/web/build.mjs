// Bundles the page: one script, one style sheet, and two files that are copied unchanged.
//
//     node src/surface/page/web/build.mjs --out DIR

import { copyFile, mkdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build } from "esbuild";

const { values: options } = parseArgs({ options: { out: { type: "string" } } });
if (options.out === undefined) {
  console.error("error: usage: node src/surface/page/web/build.mjs --out DIR");
  process.exit(2);
}
const from = dirname(fileURLToPath(import.meta.url));
const out = resolve(options.out);

// The first versions with `light-dark()`, from spring 2024 or before.
const target = ["chrome123", "firefox120", "safari17.5"];

await mkdir(out, { recursive: true });
await build({
  entryPoints: { page: join(from, "main.ts") },
  outfile: join(out, "page.js"),
  bundle: true,
  minify: true,
  format: "esm",
  target,
  charset: "utf8",
  legalComments: "none",
  logLevel: "warning",
});
await build({
  entryPoints: [join(from, "style", "page.css")],
  outfile: join(out, "page.css"),
  bundle: true,
  minify: true,
  target,
  charset: "utf8",
  logLevel: "warning",
});
for (const name of ["index.html", "icon.svg"]) await copyFile(join(from, name), join(out, name));
