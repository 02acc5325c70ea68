// Writes a result as JSON text for Rust, whatever a tool put into it.
//
// Plain data costs one native `JSON.stringify`. Only when that throws, or its text shows that it
// lost something (a Map becomes `{}`), does `23_json_careful.ts` walk the value by hand.

import { bytesOf, CarefulJson, JsonTooLarge } from "ext:haft/23_json_careful.ts";
import type { Block, Result } from "ext:haft/25_result.ts";

/** Larger results are refused: they would be held several times on their way to the caller. */
export const MAX_RESULT_CHARS = 64 * 1024 * 1024;

const { keys, prototype: objectPrototype } = Object;
const { isArray, prototype: arrayPrototype } = Array;
const stringify = JSON.stringify;

/** The JSON text of a normalised result, of at most `maxChars` characters. Never throws. */
export function toJson(result: Result, maxChars = MAX_RESULT_CHARS): string {
  try {
    const text = fastJson(result, maxChars) ?? carefulJson(result, maxChars);
    if (text.length <= maxChars) return text;
    return tooLarge(text.length, maxChars);
  } catch (error) {
    if (error instanceof JsonTooLarge) return tooLarge(undefined, maxChars);
    return failed("its details cannot be written as JSON.");
  }
}

/** The JSON text of any value, by the careful way alone; undefined has none and gives `null`. */
export function carefulJson(value: unknown, maxChars = MAX_RESULT_CHARS): string {
  return new CarefulJson(maxChars).write(value);
}

function fastJson(result: Result, maxChars: number): string | undefined {
  // A tool that patched arrays or, above them, objects would have a say in every other's result.
  if ("toJSON" in arrayPrototype) return undefined;
  const { content, details } = result;
  try {
    const glance: Glance = { left: GLANCE, size: 0, sawError: false };
    for (const block of content) {
      glance.size += sizeOf(block);
    }
    look(details, glance);
    if (glance.size > maxChars || glance.sawError) return undefined;
    const text = stringify(result);
    return isEmpty(details) || !lostSomething(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

function sizeOf(block: Block): number {
  if (block.type === "text") return block.text.length;
  if (block.type === "image" || block.type === "audio") return block.data.length;
  if (block.type === "resource_link") return 0;
  const { resource } = block;
  return "text" in resource ? resource.text.length : resource.blob.length;
}

/** A short look into the details, before anything is copied. */
interface Glance {
  /** Number of values that may still be visited. */
  left: number;
  size: number;
  sawError: boolean;
}

const GLANCE = 256;

// 200 MB of text should not be copied once more only to learn that it is too large. And native JSON
// keeps only the own fields of an error, without a trace of the message that it dropped.
function look(value: unknown, glance: Glance): void {
  if (--glance.left < 0) return;
  if (typeof value === "string") glance.size += value.length;
  if (typeof value !== "object" || value === null) return;
  const bytes = bytesOf(value);
  glance.size += bytes * 2;
  if (bytes > 0) return;
  if (value instanceof Error) glance.sawError = true;
  const fields = value as Record<string | number, unknown>;
  if (isArray(value)) {
    for (let index = 0; index < value.length && glance.left > 0; index++)
      look(value[index], glance);
  } else {
    for (const key of keys(fields)) if (glance.left > 0) look(fields[key], glance);
  }
}

function isEmpty(details: unknown): boolean {
  if (typeof details !== "object" || details === null) return false;
  return Object.getPrototypeOf(details) === objectPrototype && keys(details).length === 0;
}

/**
 * True if native JSON may have lost something: a Map, a Set or an Error shows as `{}`, a typed
 * array as an object of indexes, half a surrogate pair as an escape that Rust refuses.
 */
function lostSomething(text: string): boolean {
  return text.includes("{}") || text.includes('{"0":') || text.includes("\\ud");
}

function tooLarge(size: number | undefined, maxChars: number): string {
  const measured = size === undefined ? "larger than" : `${megabytes(size)} of JSON, above`;
  return failed(
    `it is ${measured} the limit of ${megabytes(maxChars)}. ` +
      "Write the data to a file and return its path.",
  );
}

function failed(problem: string): string {
  const text = `Tool returned an invalid result: ${problem}`;
  return stringify({ content: [{ type: "text", text }], details: {}, isError: true });
}

function megabytes(chars: number): string {
  return `${Number((chars / (1024 * 1024)).toFixed(1))} MB`;
}
