// Small functions of `Bun` that are one call of something else.

import { builtin, shared } from "../builtin.ts";
import { describe } from "./streams.ts";

/** Waits so many milliseconds, or until a time. */
export function sleep(until: number | Date): Promise<void> {
  return new Promise((done) => {
    setTimeout(done, milliseconds(until));
  });
}

/** Blocks the isolate and every call in it. */
export function sleepSync(until: number | Date): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds(until));
}

function milliseconds(until: number | Date): number {
  const wait = until instanceof Date ? until.getTime() - Date.now() : until;
  if (typeof wait !== "number" || Number.isNaN(wait)) {
    throw new TypeError(`expected milliseconds or a Date, not ${describe(until)}`);
  }
  return Math.max(0, wait);
}

export function nanoseconds(): number {
  return Math.trunc(performance.now() * 1e6);
}

const ENTITIES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#x27;",
};

export function escapeHTML(value: unknown): string {
  return String(value).replace(/[&<>"']/g, (character) => ENTITIES[character] as string);
}

export function inspect(value: unknown, options?: object): string {
  return builtin("node:util").inspect(value, options);
}
inspect.custom = Symbol.for("nodejs.util.inspect.custom");

type Details = [state: 0 | 1 | 2, result: unknown];

function detailsOf(promise: Promise<unknown>): Details {
  return shared("promiseDetails")(promise);
}

/** Returns the settled value of a promise without waiting; the promise itself while it is pending. */
export function peek(promise: unknown): unknown {
  if (!(promise instanceof Promise)) return promise;
  const [state, result] = detailsOf(promise);
  return state === 0 ? promise : result;
}
peek.status = (promise: unknown): string =>
  promise instanceof Promise
    ? (["pending", "fulfilled", "rejected"][detailsOf(promise)[0]] as string)
    : "fulfilled";

export function allocUnsafe(size: number): Uint8Array {
  return builtin("node:buffer").Buffer.allocUnsafe(size);
}

export function deepEquals(left: unknown, right: unknown): boolean {
  return builtin("node:util").isDeepStrictEqual(left, right);
}

export function fileURLToPath(url: string | URL): string {
  return builtin("node:url").fileURLToPath(url);
}

export function pathToFileURL(path: string): URL {
  return builtin("node:url").pathToFileURL(path);
}

/** The file that `specifier` means in a module of the folder or file `from`. */
export function resolveSync(specifier: string, from: string): string {
  const { join } = builtin("node:path");
  const { createRequire } = builtin("node:module");
  const isFolder = builtin("node:fs").statSync(from, { throwIfNoEntry: false })?.isDirectory();
  return createRequire(isFolder ? join(from, "index.js") : from).resolve(specifier);
}

export async function resolve(specifier: string, from: string): Promise<string> {
  return resolveSync(specifier, from);
}

export const gzipSync = (data: string | Uint8Array): Uint8Array =>
  builtin("node:zlib").gzipSync(data);
export const gunzipSync = (data: Uint8Array): Uint8Array => builtin("node:zlib").gunzipSync(data);
export const deflateSync = (data: string | Uint8Array): Uint8Array =>
  builtin("node:zlib").deflateRawSync(data);
export const inflateSync = (data: Uint8Array): Uint8Array =>
  builtin("node:zlib").inflateRawSync(data);

export function concatArrayBuffers(buffers: (ArrayBuffer | Uint8Array)[]): ArrayBuffer {
  const parts = buffers.map((part) => (part instanceof Uint8Array ? part : new Uint8Array(part)));
  return new Uint8Array(builtin("node:buffer").Buffer.concat(parts)).buffer;
}

/** V8 collects by itself. */
export function gc(): void {}
