// What ES modules of tools need besides the language: `require`, `module`, `__dirname` and
// `__filename` in ES modules, as Bun gives them. The module loader adds an import of
// `haft:commonjs` to files that use one of these names.

/** Makes the CommonJS names for the module at `url`. */
function commonJsFor(url: string): Record<string, unknown> {
  const nodeModule = (globalThis as any).process.getBuiltinModule("node:module");
  const nodeUrl = (globalThis as any).process.getBuiltinModule("node:url");
  const nodePath = (globalThis as any).process.getBuiltinModule("node:path");
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

Object.defineProperty(globalThis, Symbol.for("haft.commonjs"), {
  value: commonJsFor,
  enumerable: false,
  configurable: false,
  writable: false,
});
