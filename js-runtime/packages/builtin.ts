// Parts of Node and of the runtime that scripts ask for when they use them: scripts are evaluated before
// there is a Node, and cannot import the runtime.

interface Builtins {
  "node:buffer": typeof import("node:buffer");
  "node:child_process": typeof import("node:child_process");
  "node:crypto": typeof import("node:crypto");
  "node:fs": typeof import("node:fs");
  "node:module": typeof import("node:module");
  "node:os": typeof import("node:os");
  "node:path": typeof import("node:path");
  "node:process": typeof import("node:process");
  "node:sqlite": import("./bun-sqlite/native.ts").SqliteModule;
  "node:stream": typeof import("node:stream");
  "node:url": typeof import("node:url");
  "node:util": typeof import("node:util");
  "node:zlib": typeof import("node:zlib");
}

/** Returns a value that the runtime shares: see `shareWithScripts`. */
export function shared(name: string): any {
  return (globalThis as Record<symbol, any>)[Symbol.for(`haft.${name}`)];
}

/** The builtin called `name`. */
export function builtin<Name extends keyof Builtins>(name: Name): Builtins[Name] {
  const found = shared("builtin")(name);
  return found.default ?? found;
}
