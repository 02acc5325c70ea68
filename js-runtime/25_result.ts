// Converts what a tool returned, reported or threw into the one form that hosts read (spec omp 8), and
// writes it as JSON text for Rust.
//
// Trusts nothing: a result may be a proxy, have getters that throw, or not be a result at all. None
// of these throws here; each becomes a result that describes the error, with its exact text.
//
// Plain data costs one native `JSON.stringify`. Only when that throws, or its text shows that it
// lost something (a Map becomes `{}`), does `23_json_careful.ts` walk the value by hand.

import { bytesOf, CarefulJson, JsonTooLarge } from "ext:haft/23_json_careful.ts";
import { sanitiseText } from "ext:haft/23_text.ts";

export { sanitiseText } from "ext:haft/23_text.ts";

export type Block = (
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string }
  | { type: "audio"; data: string; mimeType: string }
  | { type: "resource"; resource: Contents }
  | ({ type: "resource_link"; uri: string; name: string } & Described)
) &
  Marks;

/** Hints of a block for clients, as MCP defines them. */
interface Marks {
  annotations?: Annotations;
  _meta?: object;
}

interface Annotations {
  audience?: ("user" | "assistant")[];
  priority?: number;
  lastModified?: string;
}

/** A thing with its contents: its text, or its bytes in base64. */
type Contents = { uri: string; mimeType?: string } & ({ text: string } | { blob: string });

interface Described {
  title?: string;
  description?: string;
  mimeType?: string;
}

export interface Result {
  content: Block[];
  details: unknown;
  isError: boolean;
  /** Only ever true: the result carries nothing that a model could use. */
  useless?: boolean;
}

const { keys, prototype: objectPrototype } = Object;
const { isArray, prototype: arrayPrototype } = Array;
const { parse, stringify } = JSON;

const INVALID = "Tool returned an invalid result:";
const MISSING_CONTENT = `${INVALID} missing content array.`;
const NO_OUTPUT = "Tool failed with no output.";

/** The result that `value`, a tool's return value or an update, stands for. Never throws. */
export function normaliseResult(value: any): Result {
  try {
    return normalise(value);
  } catch (error) {
    return resultOf([textBlock(`${INVALID} ${thrownText(error)}`)], {}, true);
  }
}

function normalise(value: any): Result {
  const given = typeof value === "object" && value !== null ? value : {};
  const details = detailsOf(given.details);
  const blocks = given.content;
  if (!isArray(blocks)) return resultOf([textBlock(MISSING_CONTENT)], details, true);
  const content: Block[] = [];
  let unsupported = 0;
  for (let index = 0; index < blocks.length; index++) {
    const given = blocks[index];
    const block = blockOf(given);
    if (block === undefined) {
      unsupported += 1;
      continue;
    }
    mark(block, given);
    content[content.length] = block;
  }
  if (unsupported > 0) {
    const blocksHad = `${unsupported} content block${unsupported === 1 ? "" : "s"} had`;
    content[content.length] = textBlock(`${INVALID} ${blocksHad} an unsupported shape.`);
  }
  const isError = unsupported > 0 || Boolean(given.isError);
  if (isError && !saysSomething(content)) return resultOf([textBlock(NO_OUTPUT)], details, true);
  const result = resultOf(content, details, isError);
  // What failed is never useless: the model has to know.
  if (!isError && given.useless) result.useless = true;
  return result;
}

/** The result that stands for `error`, which `execute` threw or rejected with. Never throws. */
export function thrownToResult(error: unknown): Result {
  return resultOf([textBlock(thrownText(error))], {}, true);
}

function resultOf(content: Block[], details: unknown, isError: boolean): Result {
  return { content, details, isError };
}

function textBlock(text: string): Block {
  return { type: "text", text: sanitiseText(text) };
}

function blockOf(block: any): Block | undefined {
  if (typeof block !== "object" || block === null) return undefined;
  // Read once: a getter may answer differently the second time.
  const type = block.type;
  if (type === "text") {
    const text = block.text;
    return typeof text === "string" ? textBlock(text) : undefined;
  }
  if (type === "image" || type === "audio") {
    const { data, mimeType } = block;
    if (typeof data !== "string" || typeof mimeType !== "string") return undefined;
    return { type, data, mimeType };
  }
  if (type === "resource") {
    const resource = contentsOf(block.resource);
    return resource === undefined ? undefined : { type, resource };
  }
  if (type !== "resource_link") return undefined;
  const { uri, name, title, description, mimeType } = block;
  if (typeof uri !== "string" || typeof name !== "string") return undefined;
  return { type, uri, name, ...described(title, description, mimeType) };
}

/** Takes the annotations and the metadata of a block over. */
function mark(block: Block, { annotations, _meta }: any): void {
  const known = isObject(annotations) ? annotationsOf(annotations) : undefined;
  if (known !== undefined) block.annotations = known;
  if (isObject(_meta)) block._meta = parse(carefulJson(_meta));
}

/** The annotations that MCP knows, as far as they are valid; undefined without any. */
function annotationsOf(given: any): Annotations | undefined {
  const { audience, priority, lastModified } = given;
  const known: Annotations = {};
  if (isArray(audience)) {
    const heard: ("user" | "assistant")[] = [];
    for (let index = 0; index < audience.length; index++) {
      const who = audience[index];
      if (who === "user" || who === "assistant") heard[heard.length] = who;
    }
    known.audience = heard;
  }
  if (typeof priority === "number" && priority >= 0 && priority <= 1) known.priority = priority;
  if (typeof lastModified === "string") known.lastModified = lastModified;
  for (const _ in known) return known;
  return undefined;
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !isArray(value);
}

function contentsOf(resource: any): Contents | undefined {
  if (typeof resource !== "object" || resource === null) return undefined;
  const { uri, mimeType, text, blob } = resource;
  if (typeof uri !== "string") return undefined;
  const about = { uri, ...described(undefined, undefined, mimeType) };
  if (typeof text === "string") return { ...about, text: sanitiseText(text) };
  return typeof blob === "string" ? { ...about, blob } : undefined;
}

/** Description of a resource, with the valid parts only. */
function described(title: unknown, description: unknown, mimeType: unknown): Described {
  const said: Described = {};
  if (typeof title === "string") said.title = title;
  if (typeof description === "string") said.description = description;
  if (typeof mimeType === "string") said.mimeType = mimeType;
  return said;
}

// Details are "any JSON, never null"; what JSON has no word for counts as missing.
function detailsOf(details: unknown): unknown {
  if (details === null || details === undefined) return {};
  return typeof details === "function" || typeof details === "symbol" ? {} : details;
}

function saysSomething(content: Block[]): boolean {
  for (const block of content) {
    if (block.type !== "text" || block.text.trim() !== "") return true;
  }
  return false;
}

function thrownText(error: unknown): string {
  try {
    if (!(error instanceof Error)) return String(error);
    const message = String(error.message);
    if (message !== "") return message;
    // Node's connection errors are aggregates without a message of their own.
    if (error instanceof AggregateError && error.errors.length > 0) {
      return error.errors.map(thrownText).join("\n");
    }
    return error.name === "Error" || error.name === "" ? NO_OUTPUT : String(error.name);
  } catch {
    return "Tool threw an error that cannot be shown.";
  }
}

/** Larger results are refused: they would be held several times on their way to the caller. */
export const MAX_RESULT_CHARS = 64 * 1024 * 1024;

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
