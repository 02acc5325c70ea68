import fs, { existsSync } from "fs";
import * as nodeFs from "node:fs";
import { readFile } from "fs/promises";
import { join } from "path";
import { join as posixJoin } from "node:path/posix";
import { EventEmitter } from "events";
import { Readable } from "stream";
import { promisify, format } from "util";
import { builtinModules, createRequire } from "module";
import { performance } from "perf_hooks";
import { randomUUID } from "crypto";
import { createServer } from "node:http";
import { createConnection } from "node:net";
import { exec, execSync, spawnSync } from "child_process";
import assert from "assert";
import { gzipSync, gunzipSync } from "zlib";
import { AsyncLocalStorage } from "async_hooks";
import { StringDecoder } from "string_decoder";
import process from "process";
import { Buffer as NodeBuffer } from "buffer";

const require = createRequire(import.meta.url);
const facts = {
  same: fs.existsSync === existsSync && nodeFs.existsSync === existsSync && require("fs").existsSync === existsSync,
  join: join("a", "b") === posixJoin("a", "b"),
  promises: (await readFile("word.txt", "utf8")).trim(),
  exec: (await promisify(exec)("echo exec")).stdout.trim(),
  execSync: execSync("echo sync", { encoding: "utf8" }).trim(),
  spawnSync: spawnSync("sh", ["-c", "exit 4"]).status,
  stream: await Readable.from(["x", "y"]).toArray(),
  events: new EventEmitter().listenerCount("x"),
  zip: gunzipSync(gzipSync("zipped")).toString(),
  store: new AsyncLocalStorage().run(5, () => format("%d", 5)),
  decoder: new StringDecoder("utf8").end(NodeBuffer.from("é")),
  uuid: randomUUID().length,
  clock: performance.now() > 0,
  kinds: [typeof createServer, typeof createConnection, typeof assert.deepEqual].join(),
  listed: builtinModules.includes("fs"),
};

export default (pi) => ({
  name: "probe",
  label: "probe",
  description: "probe",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    return { content: [{ type: "text", text: JSON.stringify(facts) }] };
  },
});
