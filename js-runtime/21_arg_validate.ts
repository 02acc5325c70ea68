// Validates arguments with the library of the schema, and converts every answer into one form.
//
// It does not decide itself: zod and arktype check their own schemas, the host's JSON Schema validator
// the rest. Only a trial shows that a zod schema has asynchronous parts; the result is cached.

import { zod } from "ext:haft/05_packages.ts";
import { isSchemaObject, type Schema } from "ext:haft/20_schema_copy.ts";
import { type Step, unescapeStep } from "ext:haft/20_schema_nodes.ts";
import { objectOfShape } from "ext:haft/20_wire_schema.ts";
import { withDefaults } from "ext:haft/21_arg_fill.ts";

/** A tool, as far as its arguments go. */
export interface ArgumentTool {
  readonly name: string;
  readonly parameters: unknown;
  /** The wire schema. */
  readonly schema: Schema;
  readonly kind: string;
  /** Changes the arguments before they are checked. */
  readonly prepare?: ((args: unknown) => unknown) | undefined;
  /** The wire schema as text; made here when first needed. */
  schemaText?: string;
}

/** One problem that the JSON Schema validator found. */
export interface Issue {
  /** Place of the problem, as a JSON pointer. */
  pointer: string;
  message: string;
  /** The keyword that failed: `type`, `required`, `additionalProperties`, … */
  keyword?: string;
}

/** Checks a value against a schema, both in JSON text; null or an empty list if it fits. */
export type Check = (schemaText: string, valueText: string) => Issue[] | null;

/** One problem in the arguments. */
export interface Finding {
  path: Step[];
  message: string;
  /** Keys that nothing declares. An empty list: all that are not declared. */
  unknownKeys?: string[];
  /** A problem inside one branch of a union: a hint for repairs, nothing to tell. */
  inBranch?: boolean;
}

export type Validated = { ok: true; value: unknown } | { ok: false; findings: Finding[] };

const { isArray } = Array;
const stringify = JSON.stringify;
const NativePromise = Promise;

/** Checks `value`; `text` is its JSON text where that is at hand. Never throws. */
export function validateArguments(
  tool: ArgumentTool,
  value: unknown,
  text: string | undefined,
  check: Check,
): Validated | Promise<Validated> {
  switch (tool.kind) {
    case "zod":
    case "zod3":
      return checkZod(tool.parameters, value);
    case "shape":
      return checkZod(objectOfShape(tool.parameters as Schema), value);
    case "arktype":
      return guarded(() => checkArktype(tool.parameters as (value: unknown) => any, value));
    case "standard":
      return checkStandard(tool.parameters, value);
    case "none":
      return checkObject(value);
    default:
      return checkJson(tool, value, text, check);
  }
}

const asynchronous = new WeakSet<object>();

function checkZod(schema: any, value: unknown): Validated | Promise<Validated> {
  if (asynchronous.has(schema)) return checkZodLater(schema, value);
  try {
    // Schemas of `zod/v4/core` have no methods.
    const result = schema.safeParse ? schema.safeParse(value) : zod()["safeParse"](schema, value);
    return fromZod(result, value);
  } catch (error) {
    if (!isZodAsync(error)) return thrown(error);
    asynchronous.add(schema);
    return checkZodLater(schema, value);
  }
}

// zod 4 throws a class of its own, zod 3 a plain error.
function isZodAsync(error: any): boolean {
  return (
    error?.constructor?.name === "$ZodAsyncError" ||
    (error instanceof Error && error.message.includes("parseAsync"))
  );
}

async function checkZodLater(schema: any, value: unknown): Promise<Validated> {
  try {
    const result = schema.safeParseAsync
      ? schema.safeParseAsync(value)
      : zod()["safeParseAsync"](schema, value);
    return fromZod(await result, value);
  } catch (error) {
    return thrown(error);
  }
}

function fromZod(result: any, input: unknown): Validated {
  if (result.success) return { ok: true, value: merged(input, result.data) };
  const findings: Finding[] = [];
  for (const issue of result.error.issues) noteZodIssue(issue, [], false, findings);
  return { ok: false, findings };
}

function noteZodIssue(issue: any, above: Step[], inBranch: boolean, findings: Finding[]): void {
  const path = [...above, ...issue.path];
  const finding: Finding = { path, message: issue.message };
  if (issue.code === "unrecognized_keys") finding.unknownKeys = issue.keys;
  if (inBranch) finding.inBranch = true;
  findings.push(finding);
  if (issue.code !== "invalid_union") return;
  // zod 4: `errors`, with paths from the union on. zod 3: `unionErrors`, with whole paths.
  for (const branch of issue.errors ?? []) {
    for (const inner of branch) noteZodIssue(inner, path, true, findings);
  }
  for (const branch of issue.unionErrors ?? []) {
    for (const inner of branch.issues) noteZodIssue(inner, above, true, findings);
  }
}

function checkArktype(schema: (value: unknown) => any, value: unknown): Validated {
  const out = schema(value);
  if (out?.[" arkKind"] !== "errors") return { ok: true, value: merged(value, out) };
  const findings: Finding[] = [];
  for (const error of out) {
    const path = [...error.path];
    const finding: Finding = { path, message: error.problem ?? error.message };
    // arktype reports an undeclared key at the key, with "removed" as what it wants.
    if (error.expected === "removed") finding.unknownKeys = [String(path.pop())];
    findings.push(finding);
  }
  return { ok: false, findings };
}

function checkStandard(schema: any, value: unknown): Validated | Promise<Validated> {
  return guarded(() => {
    const result = schema["~standard"].validate(value);
    return result instanceof NativePromise
      ? later(result, (settled) => fromStandard(settled, value))
      : fromStandard(result, value);
  });
}

async function later(
  result: Promise<unknown>,
  read: (settled: any) => Validated,
): Promise<Validated> {
  try {
    return read(await result);
  } catch (error) {
    return thrown(error);
  }
}

function fromStandard(result: any, input: unknown): Validated {
  if (result.issues === undefined) return { ok: true, value: merged(input, result.value) };
  const findings: Finding[] = [];
  for (const { message, path } of result.issues) {
    const steps = (path ?? []).map((step: any) => (typeof step === "object" ? step.key : step));
    findings.push({ path: steps, message });
  }
  return { ok: false, findings };
}

function checkObject(value: unknown): Validated {
  if (isSchemaObject(value)) return { ok: true, value };
  const received = value === null ? "null" : isArray(value) ? "array" : typeof value;
  const message = `Invalid input: expected object, received ${received}`;
  return { ok: false, findings: [{ path: [], message }] };
}

function checkJson(
  tool: ArgumentTool,
  value: unknown,
  text: string | undefined,
  check: Check,
): Validated {
  tool.schemaText ??= stringify(tool.schema);
  const filled = tool.schemaText.includes('"default"') ? withDefaults(tool.schema, value) : value;
  const valueText = filled === value && text !== undefined ? text : stringify(filled);
  const issues = check(tool.schemaText, valueText);
  if (issues === null || issues.length === 0) return { ok: true, value: filled };
  return { ok: false, findings: issues.map(fromIssue) };
}

function fromIssue(issue: Issue): Finding {
  const path = issue.pointer === "" ? [] : issue.pointer.slice(1).split("/").map(stepOf);
  const finding: Finding = { path, message: issue.message };
  if (issue.keyword === "additionalProperties" || issue.keyword === "unevaluatedProperties") {
    finding.unknownKeys = [];
  }
  return finding;
}

function stepOf(step: string): Step {
  return /^(?:0|[1-9]\d*)$/.test(step) ? Number(step) : unescapeStep(step);
}

// Unknown keys of the root reach the tool; those of nested objects are the schema's business.
function merged(input: unknown, data: unknown): unknown {
  return isSchemaObject(input) && isSchemaObject(data) ? { ...input, ...data } : data;
}

// A refinement or transform of the author threw.
function thrown(error: unknown): Validated {
  const message = error instanceof Error ? error.message : String(error);
  return { ok: false, findings: [{ path: [], message: `The schema threw: ${message}` }] };
}

function guarded<T>(action: () => T): T | Validated {
  try {
    return action();
  } catch (error) {
    return thrown(error);
  }
}
