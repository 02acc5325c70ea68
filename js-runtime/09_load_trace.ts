// Reports to Rust actions of a loading module that can change its description later:
// `crates/engine/src/load_trace.rs` sees files, variables, hosts and programs itself; this file reports the rest.
//
// A description that contains the day must not be cached, so `Date` is watched. It is replaced once,
// in the snapshot, before a module can keep the original: all modules share one `Date`.

import { op_haft_noticed, op_haft_noticed_symbol } from "ext:core/ops";

let loads = 0;
/** Number of global properties. Counting takes as long as a small factory, so once for each load. */
let globals: { named: number; registered: number } | undefined;

const { apply, construct, getOwnPropertyDescriptor, ownKeys } = Reflect;
const { keyFor } = Symbol;

/** A module begins to load. */
export function loadBegins(): void {
  loads += 1;
  globals ??= countGlobals();
}

/** It has loaded, or failed. */
export function loadEnds(): void {
  const before = globals;
  globals = countGlobals();
  if (globals.named !== before?.named) noticeTrace("it changes the global object");
  if (globals.registered !== before?.registered) op_haft_noticed_symbol();
  loads -= 1;
}

/**
 * Counts the properties of the global object. Those under registered symbols are counted apart: there
 * packages keep what all their copies share, and no other code looks at it.
 */
function countGlobals(): { named: number; registered: number } {
  const keys = ownKeys(globalThis);
  let registered = 0;
  // Symbols come last.
  for (let at = keys.length - 1; at >= 0; at--) {
    const key = keys[at];
    if (typeof key !== "symbol") break;
    if (keyFor(key) !== undefined) registered += 1;
  }
  return { named: keys.length - registered, registered };
}

/** Resets the count: changes by a call must not be attributed to the next module. */
export function callBegins(): void {
  globals = undefined;
}

/** Returns the contents of an object, to detect later changes. */
export function contentsOf(object: object): unknown[] {
  const contents: unknown[] = [];
  for (const key of ownKeys(object)) {
    const { value, get } = getOwnPropertyDescriptor(object, key) as PropertyDescriptor;
    contents[contents.length] = key;
    contents[contents.length] = get ?? value;
  }
  return contents;
}

/** Notices if `object` is not what it was when it had these contents. */
export function noticeChange(object: object, before: unknown[], what: string): void {
  const now = contentsOf(object);
  let isSame = now.length === before.length;
  for (let at = 0; isSame && at < now.length; at++) isSame = now[at] === before[at];
  if (!isSame) noticeTrace(what);
}

/** Reports that the description of the module may depend on `what`. */
function notice(what: string): void {
  if (loads > 0) op_haft_noticed(what, false);
}

/** The modules that load later can see what it did. */
export function noticeTrace(what: string): void {
  if (loads > 0) op_haft_noticed(what, true);
}

const CLOCK = "it asks for the time";
const OriginalDate = Date;
const originalNow = OriginalDate.now;

Object.defineProperty(OriginalDate, "now", {
  value: function now(): number {
    notice(CLOCK);
    return originalNow();
  },
  configurable: true,
  enumerable: false,
  writable: true,
});

const WatchedDate: DateConstructor = new Proxy(OriginalDate, {
  construct(target, given, newTarget) {
    if (given.length === 0) notice(CLOCK);
    return construct(target, given, newTarget === WatchedDate ? target : newTarget);
  },
  apply(target, self, given) {
    notice(CLOCK);
    return apply(target as any, self, given);
  },
});

for (const [owner, name] of [
  [OriginalDate.prototype, "constructor"],
  [globalThis, "Date"],
] as const) {
  Object.defineProperty(owner, name, {
    value: WatchedDate,
    configurable: true,
    enumerable: false,
    writable: true,
  });
}
