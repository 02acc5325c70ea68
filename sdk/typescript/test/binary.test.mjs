// The search for haft's program, and the launcher.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { place } from "./harness.mjs";

const PACKAGE = dirname(dirname(fileURLToPath(import.meta.url)));

/** Makes a program that prints its name and arguments. */
function program(path, body = 'echo "$0 $*"') {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Makes a copy of the package in a `node_modules`. */
function installed(root) {
  const copy = join(root, "node_modules/haft");
  for (const part of ["package.json", "bin", "dist"]) {
    cpSync(join(PACKAGE, part), join(copy, part), { recursive: true });
  }
  return copy;
}

test("option, variable, platform package, PATH, in this order", (t) => {
  const { root } = place(t);
  const copy = installed(root);
  const load = createRequire(import.meta.url);
  const { findBinary, platformPackage } = load(join(copy, "dist/binary.js"));
  const option = program(join(root, "option/haft"));
  const variable = program(join(root, "variable/haft"));
  const onPath = program(join(root, "path/haft"));
  // npm's link to the launcher stands before the program.
  const links = join(root, "node_modules/.bin");
  mkdirSync(links);
  symlinkSync("../haft/bin/haft.cjs", join(links, "haft"));
  chmodSync(join(copy, "bin/haft.cjs"), 0o755);
  const env = { PATH: `${links}:${dirname(onPath)}` };

  assert.equal(findBinary(undefined, env), onPath);
  assert.throws(() => findBinary(undefined, { PATH: links }), {
    kind: "no-binary",
    message: /^cannot find haft's program: the package @haft\/\w+-\w+ is not installed/,
  });
  const platform = join(root, "node_modules", platformPackage());
  const packaged = program(join(platform, "bin/haft"));
  writeFileSync(join(platform, "package.json"), "{}");
  assert.equal(findBinary(undefined, env), packaged);
  assert.equal(findBinary(undefined, { ...env, HAFT_BINARY: variable }), variable);
  assert.equal(findBinary(option, { ...env, HAFT_BINARY: variable }), option);
  assert.throws(() => findBinary(join(root, "none"), env), { kind: "no-binary" });
  assert.throws(() => findBinary(undefined, { HAFT_BINARY: root }), {
    message: `the variable HAFT_BINARY names \`${root}\`, which is not a program`,
  });
});

test("the launcher passes arguments, exit codes and signals", async (t) => {
  const { root } = place(t);
  const launcher = join(PACKAGE, "bin/haft.cjs");
  const launch = (body, ...args) => {
    const HAFT_BINARY = program(join(root, "haft"), body);
    return spawnSync(process.execPath, [launcher, ...args], {
      env: { ...process.env, HAFT_BINARY },
    });
  };
  assert.equal(String(launch('echo "$*"', "a b", "--c").stdout), "a b --c\n");
  assert.equal(launch("exit 7").status, 7);
  assert.equal(launch("kill -TERM $$").signal, "SIGTERM");
  const none = spawnSync(process.execPath, [launcher], { env: { HAFT_BINARY: "/none" } });
  assert.equal(none.status, 1);
  assert.match(String(none.stderr), /^error: the variable HAFT_BINARY names/);

  const HAFT_BINARY = program(join(root, "sleeper"), "echo up; exec sleep 600");
  const child = spawn(process.execPath, [launcher], { env: { ...process.env, HAFT_BINARY } });
  await once(child.stdout, "data");
  child.kill("SIGTERM");
  const [, signal] = await once(child, "exit");
  assert.equal(signal, "SIGTERM");
});
