// Bundles the packages that haft gives to tools: one script each, plus a table of specifiers.
//
//     node js-runtime/build.mjs --out DIR
//
// Typechecks nothing and reaches for no network. What the scripts look like, and why, is in
// `packages/bundle.mjs`; which there are is in `packages/table.mjs`.

import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({ options: { out: { type: "string" } } });
if (options.out === undefined) stop("usage: node js-runtime/build.mjs --out DIR");
const out = resolve(options.out);

const { bundlePackages } = await import("./packages/bundle.mjs").catch(explainMissing);
const { scripts, notices } = await bundlePackages().catch(explainMissing);

// A script that is gone from the table must not linger beside the new ones.
await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const table = scripts.map(({ name, script, specifiers, exports }) => ({
  name,
  script,
  specifiers,
  exports,
}));
await Promise.all([
  ...scripts.map(({ script, text }) => writeFile(join(out, script), text)),
  writeFile(join(out, "packages.json"), `${JSON.stringify(table, null, 2)}\n`),
  writeFile(join(out, "THIRD_PARTY.txt"), notices),
]);

function explainMissing(error) {
  const texts = [...(error.errors ?? []).map(({ text }) => text), error.message];
  const missing = texts.find((text) => /Cannot find package|Could not resolve "[^."]/.test(text));
  if (missing) stop(`${missing}\nhint: run \`npm ci\` in the checkout`);
  throw error;
}

function stop(message) {
  console.error(`error: ${message}`);
  process.exit(2);
}
