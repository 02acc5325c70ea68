// Bundles the packages and loads them into this process, with the two hooks that an isolate has.

import vm from "node:vm";

import { bundlePackages } from "../packages/bundle.mjs";
import { packageLoader } from "../packages/evaluate.mjs";

export const { scripts, notices } = await bundlePackages();

const texts = new Map(scripts.map(({ name, text }) => [name, text]));

/** A loader of its own with Web globals only, and the names of what it has loaded. */
export function freshLoader() {
  const asked = [];
  const load = packageLoader((name) => {
    asked.push(name);
    return texts.get(name);
  });
  return { load, asked };
}

const loaded = new Map();

/** The package `name` in this process's own globals. */
export function load(name) {
  if (!loaded.has(name)) {
    loaded.set(
      name,
      vm.runInThisContext(`"use strict"; ${texts.get(name)}`, { filename: `${name}.js` }),
    );
  }
  return loaded.get(name);
}

globalThis[Symbol.for("haft.package")] = load;
globalThis[Symbol.for("haft.logger")] = console;
globalThis[Symbol.for("haft.settings")] = { get: () => undefined };
globalThis[Symbol.for("haft.builtin")] = (name) => process.getBuiltinModule(name);
