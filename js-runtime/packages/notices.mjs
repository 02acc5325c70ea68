// Collects the licences of the npm packages that ended up inside of the scripts.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** One text with name, version, licence and licence text of every package among `inputs`. */
export async function noticesFor(root, inputs) {
  const folders = new Set(inputs.map(packageFolder).filter((folder) => folder !== undefined));
  const notices = await Promise.all(
    [...folders].sort().map((folder) => notice(join(root, folder))),
  );
  return `The scripts beside this file contain these packages.\n\n${notices.join("\n\n")}\n`;
}

/** `node_modules/@a/b/x.js` → `node_modules/@a/b`. */
function packageFolder(path) {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0];
}

async function notice(folder) {
  const { name, version, license, author } = JSON.parse(
    await readFile(join(folder, "package.json"), "utf8"),
  );
  const file = (await readdir(folder)).sort().find((entry) => /^(licen[cs]e|copying)/i.test(entry));
  const text = file
    ? (await readFile(join(folder, file), "utf8")).trim()
    : `(ships no licence text; its author is ${author?.name ?? author ?? "not named"})`;
  return `${"=".repeat(80)}\n${name} ${version} (${license})\n\n${text}`;
}
