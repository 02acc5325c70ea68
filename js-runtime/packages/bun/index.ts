// `bun` and the global `Bun`: what tools that were written for Bun use of it, over Node's modules.
//
// Files, processes, the shell template, hashing, globbing and small helpers. Servers, databases,
// bundling and foreign functions are not here and say so when they are called. Nothing but
// declarations happens at evaluation; Node is asked for when a function is called.

import { builtin } from "../builtin.ts";
import { unavailable } from "../unavailable.ts";

export { stringWidth, stripANSI } from "./ansi.ts";
export { CryptoHasher, MD5, SHA1, SHA256, SHA384, SHA512, sha } from "./crypto.ts";
export { BunFile, file, write } from "./file.ts";
export { Glob } from "./glob.ts";
export { hash } from "./hash.ts";
export {
  concatArrayBuffers,
  deepEquals,
  deflateSync,
  escapeHTML,
  fileURLToPath,
  gc,
  gunzipSync,
  gzipSync,
  inflateSync,
  inspect,
  nanoseconds,
  pathToFileURL,
  randomUUIDv7,
  resolve,
  resolveSync,
  sleep,
  sleepSync,
} from "./helpers.ts";
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

const notHere = (name: string, hint: string) => unavailable("Bun", name, hint);
const NO_SERVER = "use node:http or node:net";
const NO_DATABASE = "install a package for it";

export const serve = notHere("Bun.serve", NO_SERVER);
export const listen = notHere("Bun.listen", NO_SERVER);
export const connect = notHere("Bun.connect", NO_SERVER);
export const build = notHere("Bun.build", "haft bundles nothing");
export const Transpiler = notHere("Bun.Transpiler", "haft transpiles modules by itself");
export const plugin = notHere("Bun.plugin", "haft has no loader plugins");
export const SQL = notHere("Bun.SQL", NO_DATABASE);
export const RedisClient = notHere("Bun.RedisClient", NO_DATABASE);
export const S3Client = notHere("Bun.S3Client", NO_DATABASE);

const data = () => (globalThis as Record<symbol, any>)[Symbol.for("haft.package")]("bun-data");

/** Exports that are read from the process when they are asked for. */
export const __getters = {
  argv: () => builtin("node:process").argv,
  env: () => builtin("node:process").env,
  main: () => builtin("node:process").argv[1] ?? "",
  cwd: () => () => builtin("node:process").cwd(),
  YAML: () => data().YAML,
  TOML: () => data().TOML,
};
