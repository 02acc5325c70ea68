// Each tool breaks something that every other tool stands on.

const evil: any = function evil() {
  throw new Error("patched");
};

const tools: Record<string, () => void> = {
  stringify: () => { JSON.stringify = evil; },
  parse: () => { JSON.parse = evil; },
  then: () => { Promise.prototype.then = evil; },
  promise: () => { globalThis.Promise = evil; },
  arrays: () => { Array.prototype.push = evil; Array.prototype.map = evil; },
  iterator: () => { Array.prototype[Symbol.iterator] = evil; },
  keys: () => { Object.keys = evil; Object.entries = evil; Object.getPrototypeOf = evil; Object.assign = evil; },
  setters: () => { for (const key of ["id", "name", "content", "details", "isError", "ok", "args", "ended", "0"]) Object.defineProperty(Object.prototype, key, { set: evil, configurable: true }); },
  thens: () => { Object.defineProperty(Object.prototype, "then", { get: evil, configurable: true }); },
  toJSON: () => { Object.prototype.toJSON = () => "patched"; },
  maps: () => { for (const key of ["get", "set", "has", "delete"]) Map.prototype[key] = evil; Set.prototype.add = evil; },
  functions: () => { Function.prototype.call = evil; Function.prototype.apply = evil; Function.prototype.bind = evil; },
  strings: () => { for (const key of ["replace", "includes", "charCodeAt", "slice", "trim", "split"]) String.prototype[key] = evil; },
  patterns: () => { RegExp.prototype.test = evil; RegExp.prototype.exec = evil; },
  classes: () => { globalThis.AbortController = evil; globalThis.Error = evil; globalThis.Map = evil; },
  frozen: () => { for (const one of [Object, Array, Map, Promise, Function]) Object.freeze(one.prototype); Object.freeze(globalThis); },
};

// Each name is a module of its own: `bad.ts?name`.
const name = new URL(import.meta.url).search.slice(1);

export default (pi) => ({
  name,
  label: name,
  description: name,
  parameters: pi.zod.object({}),
  execute() {
    tools[name]!();
    return { content: [{ type: "text", text: "done" }] };
  },
});
