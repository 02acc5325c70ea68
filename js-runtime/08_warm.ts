// Node's modules that most tools import, evaluated while the snapshot is made.
//
// Left out of it they are parsed, compiled and run in every isolate at the first import: 33 ms for
// `node:fs` alone. Only what keeps no native state and reads nothing of the process may be here:
// the process that makes the snapshot is not the one that uses it. That rules out streams, sockets
// and child processes.
//
// The scripts below pull in these ES modules by themselves, but deno_core keeps the source of one
// in the snapshot only if something imports it statically.
import "ext:deno_node/_fs/_fs_copy.ts";
import "ext:deno_node/_fs/_fs_dir.ts";
import "ext:deno_node/_fs/_fs_exists.ts";
import "ext:deno_node/_fs/_fs_glob.ts";
import "ext:deno_node/_fs/_fs_lutimes.ts";
import "ext:deno_node/_fs/_fs_read.ts";
import "ext:deno_node/_fs/_fs_readdir.ts";
import "ext:deno_node/internal/fs/stat_utils.ts";
import "ext:deno_node/internal/fs/utils.mjs";

import { core } from "ext:core/mod.js";

// Packages take their Deno way where they see its version, and tools are given Node's and Bun's.
const { versions } = core.loadExtScript("ext:deno_node/_process/process.ts");
Object.defineProperty(versions, "deno", { get: () => undefined, set() {}, enumerable: false });

for (const script of ["util.ts", "url.ts", "os.ts", "fs.ts"]) {
  core.loadExtScript(`ext:deno_node/${script}`);
}
