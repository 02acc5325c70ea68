// Evaluates a script the way V8's snapshot maker does: strict, with Web globals, without Node.
//
// Anything else that a script touches is not there and fails the build, or the test.

import vm from "node:vm";

const WEB_GLOBALS = `
  AbortController AbortSignal Blob DOMException Event EventTarget File FormData Headers ReadableStream
  Request Response TextDecoder TextEncoder URL URLSearchParams WritableStream structuredClone
`
  .trim()
  .split(/\s+/);

/** A context with the language and Web classes only, and `extra` globals. */
export function bareContext(extra = {}) {
  const globals = Object.fromEntries(WEB_GLOBALS.map((name) => [name, globalThis[name]]));
  return vm.createContext({ ...globals, ...extra });
}

/** What the script `text` returns in `context`. */
export function evaluate(name, text, context = bareContext()) {
  return vm.runInContext(`"use strict"; ${text}`, context, { filename: `${name}.js` });
}

/**
 * Loads scripts by name as an isolate does, each once, and lets them find each other. `textOf`
 * gives the text of a script.
 */
export function packageLoader(textOf, context = bareContext()) {
  const loaded = new Map();
  const load = (name) => {
    if (!loaded.has(name)) loaded.set(name, evaluate(name, textOf(name), context));
    return loaded.get(name);
  };
  context[Symbol.for("haft.package")] = load;
  return load;
}
