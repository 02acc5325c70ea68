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

// The scripts refer to one another, to Node and to V8 through these at call time. Symbols keep them
// out of the way of tools that enumerate the global object.
const hooks: [string, unknown][] = [
  ["haft.package", packageByName],
  ["haft.builtin", builtin],
  ["haft.promiseDetails", core.getPromiseDetails],
];
for (const [name, value] of hooks) {
  Object.defineProperty(globalThis, Symbol.for(name), {
    value,
    enumerable: false,
    configurable: false,
    writable: false,
  });
}

// Tools of oh-my-pi expect to run on Bun.
Object.defineProperty(globalThis, "Bun", {
  get: () => packageByName("bun"),
  enumerable: false,
  configurable: true,
});
