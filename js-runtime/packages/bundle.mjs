// Turns each entry of the table into the text of one classic script.
//
// A script is an expression, `(function () { …; return exports; })()`, that can be evaluated at
// snapshot time: it touches no timer, no process and no other script. What one package takes from
// another is therefore looked up through `Symbol.for("haft.package")` whenever it is used, so that
// there is one zod and one TypeBox in an isolate, however a tool came by it.

import { realpathSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { packageLoader } from "./evaluate.mjs";
import { noticesFor } from "./notices.mjs";
import { PACKAGES } from "./table.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = join(HERE, "../..");
/** esbuild names files by their real paths, and `node_modules` may be a link. */
const MODULES = realpathSync(join(ROOT, "node_modules"));
const PARTS = Symbol.for("haft.parts");

/** Every script of the table with its text and export names, and the licences of what is inside. */
export async function bundlePackages() {
  const owners = await Promise.all(PACKAGES.filter((entry) => !entry.partOf).map(bundle));
  const texts = new Map(owners.map(({ name, text }) => [name, text]));
  const load = packageLoader((name) => texts.get(name));

  const scripts = PACKAGES.map(({ name, specifiers, partOf, part }) => {
    const namespace = partOf ? load(partOf)[PARTS][part]() : load(name);
    const exports = Object.keys(namespace).sort();
    const text = texts.get(name) ?? partScript(partOf, part, exports);
    return { name, script: `${name}.js`, specifiers, exports, text };
  });
  const inputs = owners.flatMap((owner) => owner.inputs);
  return { scripts, notices: await noticesFor(ROOT, inputs) };
}

async function bundle(entry) {
  const { name, lazy, keepNames = false } = entry;
  const result = await build({
    entryPoints: [join(HERE, name, "index.ts")],
    bundle: true,
    write: false,
    metafile: true,
    absWorkingDir: ROOT,
    format: "iife",
    globalName: "namespace",
    platform: "neutral",
    target: "es2024",
    mainFields: ["module", "main"],
    conditions: ["import"],
    tsconfigRaw: {},
    define: entry.define ?? {},
    // Identifiers stay readable: schemas and errors show the names of their classes.
    keepNames,
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    logLevel: "silent",
    plugins: [replaceModules(entry), shareOthers(entry)],
  });
  const text = script(result.outputFiles[0].text, lazy);
  return { name, text, inputs: Object.keys(result.metafile.inputs) };
}

/**
 * esbuild's namespace object has a getter for every export. A lazy package keeps them, because they
 * reach into other packages; the others get plain properties, which are faster to read. An entry
 * may export two things that tools do not see: `__parts`, the code of its subpaths, and
 * `__getters`, exports that are computed whenever they are read.
 */
function script(code, lazy) {
  const copy = lazy
    ? "Object.defineProperty(exports, name, Object.getOwnPropertyDescriptor(namespace, name));"
    : "exports[name] = namespace[name];";
  return `(function () {
${ascii(code.trim())}
const exports = {};
for (const name of Object.keys(namespace)) if (!name.startsWith("__")) ${copy}
for (const [name, get] of Object.entries(namespace.__getters ?? {})) Object.defineProperty(exports, name, { enumerable: true, get });
if (namespace.__parts) Object.defineProperty(exports, Symbol.for("haft.parts"), { value: namespace.__parts });
return exports;
})()
`;
}

/** V8 gets scripts as one-byte text; esbuild escapes what is not ASCII except in regular expressions. */
function ascii(code) {
  const escaped = (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return code.replace(/[^\x00-\x7f]/g, escaped);
}

/** A subpath's script only points into the script that holds its code. */
function partScript(owner, part, names) {
  return `(function () {
const load = () => globalThis[Symbol.for("haft.package")](${JSON.stringify(owner)})[Symbol.for("haft.parts")][${JSON.stringify(part)}]();
const exports = {};
for (const name of ${JSON.stringify(names)}) Object.defineProperty(exports, name, { enumerable: true, get: () => load()[name] });
return exports;
})()
`;
}

/**
 * Puts modules of ours in place of a package's own, where the package imports them. Of its other
 * modules only what is used stays: constants that nothing uses are not made.
 */
function replaceModules({ name, replace = {} }) {
  return {
    name: "replace-modules",
    setup(builder) {
      for (const [file, ours] of Object.entries(replace)) {
        const theirs = join(MODULES, file);
        builder.onResolve({ filter: /^\./ }, ({ path, resolveDir }) =>
          join(resolveDir, path) === theirs ? { path: join(HERE, name, ours) } : undefined,
        );
      }
      const folders = new Set(Object.keys(replace).map((file) => dirname(join(MODULES, file))));
      builder.onLoad({ filter: /\.js$/ }, async ({ path }) => {
        if (![...folders].some((folder) => path.startsWith(folder))) return undefined;
        const text = await readFile(path, "utf8");
        return {
          contents: text.replace(/^((?:const|let) \w+ = )new /gm, "$1/* @__PURE__ */ new "),
        };
      });
      // A package may import one, but gets it when it is used: see `builtin.ts`.
      builder.onResolve({ filter: /^node:/ }, ({ path }) => {
        return { path, namespace: "builtin", sideEffects: false };
      });
      builder.onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({
        contents: `
          const get = (_, name) => globalThis[Symbol.for("haft.builtin")](${JSON.stringify(path)})[name];
          module.exports = Object.create(new Proxy({}, { get }), { __esModule: { value: true } });
        `,
      }));
    },
  };
}

/**
 * Imports of what other scripts hold. The stand-in has no members; they are found through its
 * prototype at each use, when all scripts can be asked for.
 */
function shareOthers({ name: current, stateOf, state = {} }) {
  const owners = new Map();
  for (const { name, specifiers, partOf } of PACKAGES) {
    const holder = PACKAGES.find((entry) => entry.name === (partOf ?? name));
    if (holder.name === current || holder.stateOf === current) continue;
    for (const specifier of specifiers) owners.set(specifier, `(${JSON.stringify(name)})`);
  }
  const places = new Map();
  for (const [file, { part, names }] of Object.entries(state)) {
    const place = `(${JSON.stringify(stateOf)})[Symbol.for("haft.parts")].${part}()`;
    places.set(join(MODULES, file), { place, names });
  }
  const shared = (place, names = []) =>
    place && { path: place, namespace: "shared", pluginData: { names } };
  return {
    name: "share-others",
    setup(builder) {
      builder.onResolve({ filter: /^[^.]/ }, ({ path, kind }) => {
        return kind === "entry-point" ? undefined : shared(owners.get(path));
      });
      // `require` makes a subpath lazy; it shall still mean the ES module, as for the package itself.
      builder.onResolve({ filter: /^[^.]/ }, ({ path, kind, resolveDir }) => {
        return kind === "require-call"
          ? builder.resolve(path, { kind: "import-statement", resolveDir })
          : undefined;
      });
      // zod's 50 languages are a script of their own; its one import of them is relative.
      builder.onResolve({ filter: /^\.\.\/locales\/index\.js$/ }, () => {
        return current === "zod-locales" ? undefined : shared('("zod-locales")');
      });
      builder.onResolve({ filter: /^\..*\.mjs$/ }, ({ path, resolveDir }) => {
        const found = places.get(join(resolveDir, path));
        return found && shared(found.place, found.names);
      });
      builder.onLoad({ filter: /.*/, namespace: "shared" }, ({ path, pluginData }) => ({
        contents: `
          const get = (_, name) => globalThis[Symbol.for("haft.package")]${path}[name];
          module.exports = Object.create(new Proxy({}, { get }), { __esModule: { value: true } });
          for (const name of ${JSON.stringify(pluginData.names)}) {
            Object.defineProperty(module.exports, name, { get: () => get(null, name), enumerable: true });
          }
        `,
      }));
    },
  };
}
