// Members of `Bun` that haft does not have.
//
// Each is there, as a function, so that a module that only names it loads and `"serve" in Bun` holds as it
// does in Bun. Calling it, constructing it or asking for a member of it throws an error that says what it
// is and what to use.

const SERVER = "use node:http or node:net";
const DATABASE = "install a package for it, or use bun:sqlite";
const OWN_PACKAGE = "install a package for it";
const CRYPTO = "use node:crypto";
const ZLIB = "use node:zlib";
const ENGINE = "haft runs tools in V8 and gives them no hold of it";

const HINTS: Record<string, string> = {
  build: "haft bundles nothing",
  connect: SERVER,
  cron: "use a timer while a call runs",
  CSRF: OWN_PACKAGE,
  color: "use the `theme` of a renderer, or ANSI sequences",
  Cookie: OWN_PACKAGE,
  CookieMap: OWN_PACKAGE,
  deepMatch: "use Bun.deepEquals or node:assert",
  dns: "use node:dns",
  FFI: ENGINE,
  FileSystemRouter: OWN_PACKAGE,
  generateHeapSnapshot: ENGINE,
  indexOfLine: "use `indexOf`",
  jest: "use `haft test`",
  JSON5: "import a .json5 file, or install a package for it",
  JSONL: "split the text into lines and use JSON.parse",
  listen: SERVER,
  markdown: "use `Markdown` of pi-tui, or install a package for it",
  MD4: CRYPTO,
  mmap: "use node:fs",
  openInEditor: "use `ctx.ui.editor`",
  password: CRYPTO,
  plugin: "haft has no loader plugins",
  postgres: DATABASE,
  randomUUIDv5: CRYPTO,
  readableStreamToFormData: "use `new Response(stream).formData()`",
  redis: DATABASE,
  RedisClient: DATABASE,
  registerMacro: "haft has no macros",
  s3: OWN_PACKAGE,
  S3Client: OWN_PACKAGE,
  secrets: "use an environment variable",
  serve: SERVER,
  SHA224: CRYPTO,
  SHA512_256: CRYPTO,
  shrink: ENGINE,
  sql: DATABASE,
  SQL: DATABASE,
  Terminal: "use `ctx.ui.custom`",
  Transpiler: "haft transpiles modules by itself",
  udpSocket: "use node:dgram",
  unsafe: ENGINE,
  wrapAnsi: "use `wrapTextWithAnsi` of pi-tui",
  zstdCompress: ZLIB,
  zstdCompressSync: ZLIB,
  zstdDecompress: ZLIB,
  zstdDecompressSync: ZLIB,
};

/** Members that are read of any function: by `await`, `instanceof`, `extends`, a console. */
const OF_FUNCTIONS = new Set([
  "apply",
  "bind",
  "call",
  "constructor",
  "length",
  "name",
  "prototype",
  "then",
  "toJSON",
  "toString",
]);

const made = new Map<string, unknown>();

function missing(name: string): unknown {
  let stand = made.get(name);
  if (stand === undefined) made.set(name, (stand = standIn(name)));
  return stand;
}

function standIn(name: string): unknown {
  const refuse = (whole: string): never => {
    throw new Error(`\`${whole}\` is not available in haft: ${HINTS[name]}`);
  };
  // A `function`, because an arrow cannot be called with `new`.
  // biome-ignore lint/complexity/useArrowFunction: see above.
  const stand = function (): never {
    return refuse(`Bun.${name}`);
  };
  Object.defineProperty(stand, "name", { value: name });
  return new Proxy(stand, {
    get(target, key) {
      if (typeof key === "symbol" || OF_FUNCTIONS.has(key)) return Reflect.get(target, key);
      return refuse(`Bun.${name}.${key}`);
    },
  });
}

/** A getter for each of them. */
export const missingMembers: Record<string, () => unknown> = Object.fromEntries(
  Object.keys(HINTS).map((name) => [name, () => missing(name)]),
);
