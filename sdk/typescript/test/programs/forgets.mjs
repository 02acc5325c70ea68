// Starts haft, prints its process id, and ends without closing it.

import { writeSync } from "node:fs";

import { haft } from "../../dist/index.mjs";

const [how, binary, path] = process.argv.slice(2);
const tools = await haft({ binary, paths: [path] });
writeSync(1, String(tools.pid));
if (how === "exits") process.exit(7);
if (how === "throws") throw new Error("forgotten");
