// `node test/install.mjs FOLDER CACHE`: installs the npm packages of FOLDER's lock file below CACHE, and links them as
// FOLDER/node_modules. Packages of the same lock file are installed once.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import { basename, join, resolve } from "node:path";

const [folder, cache] = process.argv.slice(2).map((path) => resolve(path));
if (cache === undefined) {
  console.error("usage: node test/install.mjs FOLDER CACHE");
  process.exit(2);
}

const lock = fs.readFileSync(join(folder, "package-lock.json"));
const hash = createHash("sha256").update(lock).digest("hex").slice(0, 16);
const installed = join(cache, `npm-${basename(folder)}-${hash}`);
if (!fs.existsSync(installed)) install();
link(join(installed, "node_modules"), join(folder, "node_modules"));

/** Installs beside the place and renames, so that an incomplete installation is never used. */
function install() {
  const work = `${installed}.${process.pid}`;
  fs.mkdirSync(work, { recursive: true });
  for (const file of ["package.json", "package-lock.json"]) {
    fs.copyFileSync(join(folder, file), join(work, file));
  }
  // Not `ci`, which wants the optional packages of all platforms in the lock file.
  const args = ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
  const npm = spawnSync("npm", args, { cwd: work, stdio: "inherit" });
  if (npm.status !== 0) {
    fs.rmSync(work, { recursive: true, force: true });
    console.error(`error: npm cannot install the packages of ${folder}/package-lock.json`);
    process.exit(1);
  }
  try {
    fs.renameSync(work, installed);
  } catch (error) {
    // Another process was faster.
    fs.rmSync(work, { recursive: true, force: true });
    if (!fs.existsSync(installed)) throw error;
  }
}

function link(target, path) {
  const found = fs.lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() && fs.readlinkSync(path) === target) return;
  fs.rmSync(path, { recursive: true, force: true });
  fs.symlinkSync(target, path, "dir");
}
