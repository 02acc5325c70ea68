// What ES modules of tools need besides the language: `require`, `module`, `__dirname` and
// `__filename` in ES modules, as Bun gives them. The module loader adds an import of
// `haft:commonjs` to files that use one of these names, and imports `haft:node-module` in place of
// `node:module`; both come by here before `require` is used.

import {
  op_haft_find_provided,
  op_haft_find_required,
  op_haft_is_es_module,
  op_haft_required_in_vain,
} from "ext:core/ops";
import { packageByName, shareWithScripts } from "ext:haft/05_packages.ts";

const { defineProperty, getPrototypeOf } = Object;

/** True if Deno's `require` finds what `import` finds. */
let findsLikeImport = false;

/**
 * Makes `require` find TypeScript, tsconfig paths, files of packages and haft's own packages as
 * `import` does (see `crates/engine/src/loader/required.rs`). `Module` is the default export of `node:module`.
 */
function findLikeImport(Module: any): void {
  if (findsLikeImport) return;
  findsLikeImport = true;
  const findAsNode = Module._findPath;
  Module._findPath = function _findPath(
    request: string,
    paths: string[] | null,
    ...rest: unknown[]
  ): string | false {
    const folders = foldersToSearch(request, paths ?? []);
    if (isPath(request)) {
      for (const folder of folders) {
        // Inside of packages Node's rules come first: they are written for it.
        if (`${folder}/`.includes("/node_modules/")) continue;
        const found = op_haft_find_required(request, `${folder}/-`);
        if (found !== "") return found;
      }
    }
    const found = findAsNode.call(Module, request, paths, ...rest);
    if (found !== false) return found;
    for (const folder of isPath(request) ? folders : folders.slice(0, 1)) {
      const found = op_haft_find_required(request, `${folder}/-`);
      if (found !== "") return found;
    }
    op_haft_required_in_vain(request);
    return false;
  };
  const resolveAsNode = Module._resolveFilename;
  Module._resolveFilename = function _resolveFilename(
    request: unknown,
    parent: any,
    ...rest: unknown[]
  ): string {
    const own = ownPackage(Module, request, parent?.filename);
    return own ?? resolveAsNode.call(Module, request, parent, ...rest);
  };
  // A file that is CommonJS by its name may be an ES module all the same.
  const loadAsNode = Module._extensions[".js"];
  const load = (module: any, filename: string): void => {
    if (op_haft_is_es_module(filename)) module._compile("", filename, "module");
    else loadAsNode(module, filename);
  };
  Module._extensions[".cjs"] = load;
  Module._extensions[".cts"] = load;
}

/**
 * The name of haft's own package that `request` means in the file `from`. Deno's `require` looks into
 * its cache for what that name stands for.
 */
function ownPackage(Module: any, request: unknown, from: unknown): string | undefined {
  if (typeof request !== "string" || typeof from !== "string") return undefined;
  const name = op_haft_find_provided(request, from);
  if (name === "") return undefined;
  if (Module._cache[request] === undefined) {
    const module = new Module(request);
    module.filename = request;
    module.exports = packageByName(name);
    module.loaded = true;
    Module._cache[request] = module;
  }
  return request;
}

function isPath(request: string): boolean {
  return /^(\.{0,2}\/|\.{1,2}$)/.test(request);
}

/**
 * The folders from which a search starts: those that Node joins a path with, or those with the
 * `node_modules` that it looks into. The search sees any file in such a folder alike.
 */
function foldersToSearch(request: string, paths: string[]): string[] {
  if (request.startsWith("/")) return [""];
  const folders = paths.map((path) => path.replace(/\/node_modules$/, ""));
  return folders.filter((folder) => folder.startsWith("/"));
}

/** Makes the CommonJS names for the module at `url`. */
function commonJsFor(url: string): Record<string, unknown> {
  const nodeModule = (globalThis as any).process.getBuiltinModule("node:module");
  const nodeUrl = (globalThis as any).process.getBuiltinModule("node:url");
  const nodePath = (globalThis as any).process.getBuiltinModule("node:path");
  findLikeImport(nodeModule);
  const filename = nodeUrl.fileURLToPath(url);
  const module = { exports: {}, filename, id: filename, loaded: false };
  return {
    require: nodeModule.createRequire(url),
    module,
    exports: module.exports,
    __filename: filename,
    __dirname: nodePath.dirname(filename),
  };
}

shareWithScripts("commonjs", commonJsFor);
shareWithScripts("require", findLikeImport);

/**
 * Keeps a global away that Deno's `node:module` sets when it is first loaded. Nothing uses it here,
 * tools should not see it, and it would count as a change of the global object.
 */
export function hideNodeBootstrap(): void {
  // A setter that is inherited takes the value, and the global object has no such property. Not in
  // the snapshot: the global object gets its prototype when the runtime starts.
  defineProperty(getPrototypeOf(globalThis), "nodeBootstrap", {
    set: () => {},
    enumerable: false,
    configurable: true,
  });
}
