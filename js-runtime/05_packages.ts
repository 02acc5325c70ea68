// The packages that haft gives to tools: zod, TypeBox, arktype, the pi packages, Bun.
//
// Each is one script in the binary. zod is evaluated into the snapshot because almost every tool
// uses it; the others are evaluated when the first tool asks for them.

import { core } from "ext:core/mod.js";

type Namespace = Record<string, any>;

const loaded = new Map<string, Namespace>();

/** The package whose script is `name`, evaluated at most once in an isolate. */
export function packageByName(name: string): Namespace {
  let found = loaded.get(name);
  if (found === undefined) {
    found = core.loadExtScript(`ext:haft/${name}.js`) as Namespace;
    loaded.set(name, found);
  }
  return found;
}

const zodNamespace = packageByName("zod");

/** The host's zod v4. */
export function zod(): Namespace {
  return zodNamespace;
}

/** A Node builtin, got the way Node offers it: without an import. */
function builtin(specifier: string): Namespace {
  return (globalThis as any).process.getBuiltinModule(specifier);
}

/**
 * Gives code that cannot import our files, as scripts of packages, something to use when it is called.
 * A symbol keeps it out of the way of tools that enumerate the global object.
 */
export function shareWithScripts(name: string, value: unknown): void {
  Object.defineProperty(globalThis, Symbol.for(`haft.${name}`), {
    value,
    enumerable: false,
    configurable: false,
    writable: false,
  });
}

shareWithScripts("package", packageByName);
shareWithScripts("builtin", builtin);
shareWithScripts("promiseDetails", core.getPromiseDetails);

// Tools of oh-my-pi expect to run on Bun.
Object.defineProperty(globalThis, "Bun", {
  get: () => packageByName("bun"),
  enumerable: false,
  configurable: true,
});
