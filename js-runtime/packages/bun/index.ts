// `bun` and the global `Bun`: what tools that were written for Bun use of it, over Node's modules.
//
// Files, processes, the shell template, hashing, globbing and small helpers. Servers, databases but
// SQLite, bundling and foreign functions are not here and say so when they are used. Nothing but
// declarations happens at evaluation; Node is asked for when a function is called.

import { builtin } from "../builtin.ts";
import { data } from "./data.ts";
import { missingMembers } from "./missing.ts";
import { standardStreams } from "./standard.ts";

export { uuidv7 as randomUUIDv7 } from "../uuid.ts";
export { stringWidth, stripANSI } from "./ansi.ts";
export * from "./crypto.ts";
export { BunFile, file, write } from "./file.ts";
export { Glob } from "./glob.ts";
export { hash } from "./hash.ts";
export * from "./helpers.ts";
export { $, ShellError } from "./shell.ts";
export { spawn, spawnSync } from "./spawn.ts";
export {
  readableStreamToArray,
  readableStreamToArrayBuffer,
  readableStreamToBlob,
  readableStreamToBytes,
  readableStreamToJSON,
  readableStreamToText,
} from "./streams.ts";
export { which } from "./which.ts";

/** The version whose behaviour was compared. */
export const version = "1.4.5";
export const revision = "haft";

export const isMainThread = true;
export const enableANSIColors = false;
export const embeddedFiles: Blob[] = [];
export const origin = "";

/** Exports that are read from the process when they are asked for. */
export const __getters = {
  argv: () => builtin("node:process").argv,
  env: () => builtin("node:process").env,
  main: () => builtin("node:process").argv[1] ?? "",
  cwd: () => builtin("node:process").cwd(),
  fetch: () => globalThis.fetch,
  stdin: () => standardStreams().stdin,
  stdout: () => standardStreams().stdout,
  stderr: () => standardStreams().stderr,
  YAML: () => data().YAML,
  TOML: () => data().TOML,
  semver: () => data().semver,
  ...missingMembers,
};
