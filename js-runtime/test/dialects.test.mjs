// The table of dialects, and what docs/dialects.md says of it.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { importRuntime } from "./arguments_bundle.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { DIALECTS } = await importRuntime("27_dialect_table.ts");

test("the documentation has the table of dialects, in the order of precedence", () => {
  const page = readFileSync(join(root, "docs/dialects.md"), "utf8");
  const rows = Object.values(DIALECTS).map(({ name, places, names, because }) => {
    return `| ${name} | ${places} | ${names} | ${because} |`;
  });
  assert.ok(page.includes(`\n${rows.join("\n")}\n\n`), rows.join("\n"));
});

test("each dialect has an example", () => {
  for (const { name, example } of Object.values(DIALECTS)) {
    assert.ok(existsSync(join(root, example)), `${name}: ${example}`);
  }
});
