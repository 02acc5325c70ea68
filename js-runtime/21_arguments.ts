// The way of a call's arguments from JSON text to what `execute` gets (spec omp 7, seed era).
//
// The plain path is: parse, check, merge. Repairs and their cost start only after a refusal. The
// texts are exact, because models and hosts were tuned to them.

import type { Schema } from "ext:haft/20_schema_copy.ts";
import { mayHoldPlaceholder, withoutPlaceholders } from "ext:haft/21_arg_fill.ts";
import { repaired } from "ext:haft/21_arg_repair.ts";
import {
  type ArgumentTool,
  type Check,
  type Finding,
  type Validated,
  validateArguments,
} from "ext:haft/21_arg_validate.ts";

export type { ArgumentTool, Check, Issue } from "ext:haft/21_arg_validate.ts";

export type Prepared = { ok: true; args: unknown } | { ok: false; text: string };

const { isArray } = Array;
const { keys } = Object;
const parse = JSON.parse;
const stringify = JSON.stringify;
const NativePromise = Promise;

const MAX_PASSES = 5;
const MAX_SHOWN_STRING = 256;
const MAX_SHOWN_JSON = 512;
/** Maximum depth of a shown value: indentation makes deeper ones long and hard to read. */
const MAX_SHOWN_DEPTH = 32;

/** One set of arguments on its way. */
interface Attempt {
  readonly tool: ArgumentTool;
  readonly check: Check;
  readonly original: unknown;
  value: unknown;
  /** The JSON text of `value`, while that is still what came in. */
  text: string | undefined;
  passes: number;
}

/**
 * The arguments for `execute`, or the text for the model that describes what is wrong with them.
 *
 * A string `raw` is JSON text; empty text, null and undefined are a call without arguments. The
 * answer is a promise only where the tool's schema has asynchronous parts.
 */
export function prepareArguments(
  tool: ArgumentTool,
  raw: unknown,
  check: Check,
): Prepared | Promise<Prepared> {
  let value = raw;
  let text: string | undefined;
  try {
    // Providers hand arguments over as text, and some clients encode that once more.
    for (let layer = 0; layer < 2 && typeof value === "string"; layer++) {
      text = value;
      value = parsed(text);
    }
  } catch (error) {
    return { ok: false, text: unparseable(tool.name, error, text as string) };
  }
  if (value === null || value === undefined) {
    value = {};
    text = undefined;
  }
  if (tool.prepare !== undefined) {
    value = tool.prepare(value);
    text = undefined;
  }
  const attempt: Attempt = { tool, check, original: value, value, text, passes: 0 };
  if (text === undefined || mayNameNull(text)) dropPlaceholders(attempt);
  return proceed(attempt);
}

function parsed(text: string): unknown {
  return text.trim() === "" ? null : parse(text);
}

/** True unless the text certainly holds neither `null` nor "null". */
function mayNameNull(text: string): boolean {
  return text.includes("null") || text.includes("\\u");
}

function dropPlaceholders(attempt: Attempt): void {
  if (!mayHoldPlaceholder(attempt.value)) return;
  replace(attempt, withoutPlaceholders(attempt.tool.schema, attempt.value));
}

function replace(attempt: Attempt, value: unknown): void {
  if (value === attempt.value) return;
  attempt.value = value;
  attempt.text = undefined;
}

function proceed(attempt: Attempt): Prepared | Promise<Prepared> {
  const { tool, value, text, check } = attempt;
  const validated = validateArguments(tool, value, text, check);
  return validated instanceof NativePromise
    ? settleLater(attempt, validated)
    : settle(attempt, validated);
}

async function settleLater(attempt: Attempt, validated: Promise<Validated>): Promise<Prepared> {
  return settle(attempt, await validated);
}

function settle(attempt: Attempt, validated: Validated): Prepared | Promise<Prepared> {
  if (validated.ok) return { ok: true, args: validated.value };
  if (attempt.passes < MAX_PASSES) {
    attempt.passes += 1;
    const value = repaired(attempt.tool.schema, attempt.value, validated.findings);
    if (value !== attempt.value) {
      replace(attempt, value);
      dropPlaceholders(attempt);
      return proceed(attempt);
    }
  }
  return { ok: false, text: refusal(attempt, validated.findings) };
}

function refusal({ tool, original, value }: Attempt, findings: Finding[]): string {
  const lines: string[] = [];
  for (const { path, message, inBranch } of findings) {
    if (!inBranch) lines.push(`  - ${path.length === 0 ? "root" : path.join("/")}: ${message}`);
  }
  const received =
    value === original
      ? shortened(original)
      : { original: shortened(original), normalized: shortened(value) };
  return (
    `Validation failed for tool "${tool.name}":\n${lines.join("\n")}\n\n` +
    `Received arguments:\n${stringify(received, null, 2)}`
  );
}

function unparseable(name: string, error: unknown, raw: string): string {
  const message = error instanceof Error ? error.message : String(error);
  return (
    `Validation failed for tool "${name}": Tool call arguments are not valid JSON.\n` +
    `Parse Error: ${message}\nRaw JSON:\n${cut(raw, MAX_SHOWN_JSON)}`
  );
}

/** A copy whose long strings are cut: a refused 500 kB file need not go back to the model. */
function shortened(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return cut(value, MAX_SHOWN_STRING);
  if (typeof value !== "object" || value === null) return value;
  if (depth >= MAX_SHOWN_DEPTH) return "[Too deep]";
  if (isArray(value)) return value.map((item) => shortened(item, depth + 1));
  // `fromEntries` also defines a key that is called `__proto__`.
  return Object.fromEntries(
    keys(value).map((key) => [key, shortened((value as Schema)[key], depth + 1)]),
  );
}

function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  // Half a surrogate pair would not survive the way to the model.
  const last = text.charCodeAt(length - 1);
  const end = last >= 0xd800 && last <= 0xdbff ? length - 1 : length;
  return `${text.slice(0, end)}… [truncated ${text.length - end} chars]`;
}
