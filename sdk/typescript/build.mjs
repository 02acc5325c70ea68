// Makes `dist/`: CommonJS and types by tsc, and an ES module that exports the same values, so that a program that
// loads the package both ways has one set of classes.

import { spawnSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const require = createRequire(import.meta.url);
const dist = join(here, "dist");

rmSync(dist, { recursive: true, force: true });
const tsc = join(dirname(require.resolve("typescript/package.json")), "bin", "tsc");
const compiled = spawnSync(process.execPath, [tsc, "-p", here], { stdio: "inherit" });
if (compiled.status !== 0) process.exit(compiled.status ?? 1);

const values = Object.keys(require(join(dist, "index.js"))).sort();
const lines = [
  'import library from "./index.js";',
  "",
  `export const { ${values.join(", ")} } = library;`,
  "",
];
writeFileSync(join(dist, "index.mjs"), lines.join("\n"));
writeFileSync(join(dist, "index.d.mts"), 'export * from "./index.js";\n');
