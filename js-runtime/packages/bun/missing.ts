// Members of `Bun` that haft does not have.
//
// Each is there, as a function, so that a module that only names it loads and `"serve" in Bun` holds as it
// does in Bun. Calling it, constructing it or asking for a member of it throws an error that says what it
// is and what to use.

/** Members by the words for what to use instead. */
const INSTEAD: readonly [hint: string, names: string][] = [
  ["use node:http or node:net", "connect listen serve"],
  ["install a package for it, or use bun:sqlite", "postgres redis RedisClient sql SQL"],
  ["install a package for it", "CSRF Cookie CookieMap FileSystemRouter s3 S3Client"],
  ["use node:crypto", "MD4 password randomUUIDv5 SHA224 SHA512_256"],
  ["use node:zlib", "zstdCompress zstdCompressSync zstdDecompress zstdDecompressSync"],
  ["haft runs tools in V8 and gives them no hold of it", "FFI generateHeapSnapshot shrink unsafe"],
  ["haft bundles nothing", "build"],
  ["use a timer while a call runs", "cron"],
  ["use the `theme` of a renderer, or ANSI sequences", "color"],
  ["use Bun.deepEquals or node:assert", "deepMatch"],
  ["use node:dns", "dns"],
  ["use `indexOf`", "indexOfLine"],
  ["use `haft test`", "jest"],
  ["import a .json5 file, or install a package for it", "JSON5"],
  ["split the text into lines and use JSON.parse", "JSONL"],
  ["use `Markdown` of pi-tui, or install a package for it", "markdown"],
  ["use node:fs", "mmap"],
  ["use `ctx.ui.editor`", "openInEditor"],
  ["haft has no loader plugins", "plugin"],
  ["use `new Response(stream).formData()`", "readableStreamToFormData"],
  ["haft has no macros", "registerMacro"],
  ["use an environment variable", "secrets"],
  ["use `ctx.ui.custom`", "Terminal"],
  ["haft transpiles modules by itself", "Transpiler"],
  ["use node:dgram", "udpSocket"],
  ["use `wrapTextWithAnsi` of pi-tui", "wrapAnsi"],
];

/** Members that are read of any function: by `await`, `instanceof`, `extends`, a console. */
const OF_FUNCTIONS = new Set(
  "apply bind call constructor length name prototype then toJSON toString".split(" "),
);

function standIn(name: string, hint: string): unknown {
  const refuse = (whole: string): never => {
    throw new Error(`\`${whole}\` is not available in haft: ${hint}`);
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

/** A getter for each of them, which makes it when it is first asked for. */
export const missingMembers: Record<string, () => unknown> = Object.fromEntries(
  INSTEAD.flatMap(([hint, names]) =>
    names.split(" ").map((name) => {
      let made: unknown;
      return [name, () => (made ??= standIn(name, hint))];
    }),
  ),
);
