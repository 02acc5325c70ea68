// What every file of the runtime shares: the reply channel, the table of running calls, and the
// built-ins captured before any tool could patch them.
//
// One isolate holds many modules. `currentCall` is carried by V8's async context, so whatever a
// tool starts (a timer, a floating promise) still knows on whose behalf it runs.

import { core } from "ext:core/mod.js";
import { op_haft_reply } from "ext:core/ops";

/** Subject of a reply; twin of `ReplyKind` in `crates/engine/src/extension/host.rs`. */
export const ReplyKind = { Update: 0, Done: 1, Refused: 2, Failed: 3 } as const;

/** Severity of a log line; twin of `LogLevel` in `crates/engine/src/extension/host.rs`. */
export const LogLevel = { Debug: 0, Info: 1, Warn: 2, Error: 3 } as const;

/** Way to the outside of a recorded call; twin of `Channel` in `crates/engine/src/extension/host.rs`. */
export const Channel = { Exec: 0, Fetch: 1 } as const;

const stringify = JSON.stringify;

// A whole pair, half of one, or anything else that is escaped.
const ESCAPES = /\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u[dD][89a-fA-F]..|[\s\S])/g;
const ESCAPE_LENGTH = 6;

/**
 * `JSON.stringify` for text that Rust reads: half of a surrogate pair, which V8 writes as an escape that
 * Rust refuses, becomes U+FFFD.
 */
function jsonStringify(
  value: unknown,
  replacer?: (key: string, value: unknown) => unknown,
): string {
  const text = stringify(value, replacer);
  return text?.includes("\\ud") ? text.replace(ESCAPES, wholeEscape) : text;
}

function wholeEscape(written: string): string {
  return written.length === ESCAPE_LENGTH ? "\\ufffd" : written;
}

/** Built-ins as they were before the first tool. */
export const captured = {
  jsonParse: JSON.parse,
  jsonStringify,
  isArray: Array.isArray,
  keys: Object.keys,
  defineProperty: Object.defineProperty,
  // Binding keeps them working when a tool replaces the prototype's method.
  then: Function.prototype.call.bind(Promise.prototype.then) as <T>(
    promise: Promise<T>,
    onFulfilled: (value: T) => void,
    onRejected: (reason: unknown) => void,
  ) => void,
  AbortController,
  resolve: Promise.resolve.bind(Promise) as <T>(value: T | PromiseLike<T>) => Promise<T>,
};

/** Settings that the host passed to this isolate at its start. */
export interface Settings {
  cwd: string;
  logFile: string;
  /** The same in all isolates of a host. */
  sessionId: string;
  /** Calls run without a question, as far as the host's own configuration goes. */
  autoApprove: boolean;
  version: string;
  /** The world is on tape; see `41_replay.ts`. */
  hasTape: boolean;
  /** The texts of refusals by the kind of permission; see `03_permissions.ts`. */
  refusals: Record<string, { to: string; denied: [entry: string, text: string][]; any: string }>;
}

export const settings: Settings = {
  cwd: "",
  logFile: "",
  sessionId: "",
  autoApprove: false,
  version: "",
  hasTape: false,
  refusals: {},
};

/** One running call, or one module being loaded. */
export interface RunningCall {
  readonly id: number;
  /** The tool's name, or the module's path while it loads: who a log line is from. */
  readonly owner: string;
  readonly moduleId: number;
  readonly abort: AbortController | null;
  /** True once the reply was sent; nothing may follow it. */
  ended: boolean;
  /** The same object for the question about a call and for the call; absent where nothing was asked. */
  readonly identity?: object | undefined;
  /** The answers from outside are recorded. */
  readonly isRecorded?: boolean;
  /** The span of the call, as a `traceparent`; absent while no spans are sent. */
  readonly span?: string | undefined;
  /** Ends the call with an uncaught error. */
  fail(error: unknown): void;
}

/**
 * Stands for a call where code of the tool `owner` runs without one: a name for the log, and nothing that
 * could fail.
 */
export function withoutCall(
  id: number,
  owner: string,
  moduleId: number,
  identity?: object,
): RunningCall {
  return { id, owner, moduleId, identity, abort: null, ended: true, fail() {} };
}

/** A Map that still works when a tool replaced the methods of `Map.prototype`. */
export class SafeMap<Key, Value> extends Map<Key, Value> {}
for (const key of Reflect.ownKeys(Map.prototype)) {
  if (key === "constructor") continue;
  Object.defineProperty(
    SafeMap.prototype,
    key,
    Object.getOwnPropertyDescriptor(Map.prototype, key) as PropertyDescriptor,
  );
}
Object.setPrototypeOf(SafeMap.prototype, null);

export const runningCalls = new SafeMap<number, RunningCall>();

/**
 * State that V8 carries through every await, timer and event. deno_core's variables have numbers in it, and
 * copy what they do not know; ours stands there itself, which costs a tenth of such a variable.
 */
interface AsyncContext {
  haftCall?: RunningCall;
}

/** On whose behalf the current code runs, through every await, timer and event. */
export const currentCall = {
  get: (): RunningCall | undefined => core.getAsyncContext()?.haftCall,
};

/** Sends an answer to Rust. The text of a `Done` is JSON. */
export function reply(id: number, kind: number, text: string): void {
  op_haft_reply(id, kind, text);
}

/** Runs `action` on behalf of `call`; the caller's own context is back afterwards. */
export function onBehalfOf<T>(call: RunningCall, action: () => T): T {
  const previous: AsyncContext | null | undefined = core.getAsyncContext();
  core.setAsyncContext(previous ? { ...previous, haftCall: call } : { haftCall: call });
  try {
    return action();
  } finally {
    core.setAsyncContext(previous);
  }
}
