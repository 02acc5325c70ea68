// Bun and Deno, and how the tests run programs with them.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

import { place, TOOLS } from "../harness.mjs";

const installed = (path) => fileURLToPath(new URL(`./node_modules/${path}`, import.meta.url));

export const BUN = installed("@oven/bun-linux-x64/bin/bun");
export const DENO = installed("@deno/linux-x64-glibc/deno");

/** Runs a program with an empty home and the tools of the tests as its last argument. Returns its output. */
export async function run(t, [command, ...args]) {
  const { cwd, env } = place(t);
  const options = {
    cwd,
    env: { ...process.env, ...env, HAFT_BINARY: process.env.HAFT_BINARY },
    timeout: 120_000,
  };
  return await new Promise((resolve) => {
    execFile(command, [...args, TOOLS], options, (error, stdout, stderr) => {
      assert.equal(error, null, `${error?.message}\n${stderr}`);
      resolve(stdout);
    });
  });
}
