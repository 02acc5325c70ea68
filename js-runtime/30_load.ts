// Loads one module: import, get its tools by its dialect, check and describe each (spec omp 4).
//
// A dialect is one file, one row of `READERS` and one of `27_dialect_table.ts`. It returns tools in
// the contract of oh-my-pi (a name, a description, parameters and `execute`), so that arguments,
// updates, results, approval and rendering are the same for all of them. A module that fits several
// belongs to the first row.
//
// Every way in which a module can be invalid ends in a text of oh-my-pi, because hosts compare
// them. The returned value of a module is kept as the original object: getters stay getters.

import {
  captured,
  onBehalfOf,
  ReplyKind,
  type RunningCall,
  reply,
  runningCalls,
  SafeMap,
} from "ext:haft/00_state.ts";
import { loadBegins, loadEnds } from "ext:haft/09_load_trace.ts";
import { resolveTool } from "ext:haft/16_pending.ts";
import { type Stance, stanceFrom } from "ext:haft/17_approval.ts";
import { type ArgumentOrder, argumentOrder } from "ext:haft/18_order.ts";
import { wireSchema } from "ext:haft/20_wire_schema.ts";
import { checkBuiltIns } from "ext:haft/22_intact.ts";
import { messageOf } from "ext:haft/23_json_careful.ts";
import { joinedTools } from "ext:haft/27_copilot.ts";
import {
  DIALECTS,
  type ImportedModule,
  type Offered,
  type OfferedTool,
} from "ext:haft/27_dialect_table.ts";
import { exportedTools } from "ext:haft/27_exports.ts";
import { enteredTools } from "ext:haft/27_openclaw.ts";
import { opencodePlugins, opencodeTools } from "ext:haft/27_opencode.ts";
import { factoryTools } from "ext:haft/27_pi.ts";

/** A tool as its author made it. */
export type AuthoredTool = Record<string, any>;

/** A tool that can be called. */
export interface LoadedTool {
  readonly name: string;
  readonly authored: AuthoredTool;
  readonly parameters: unknown;
  readonly schema: Record<string, unknown>;
  readonly kind: string;
  /** The order in which `execute` takes its arguments, where it is not that of the contract. */
  readonly order: ArgumentOrder | undefined;
  /** Changes the arguments before they are checked, where the dialect has such a function. */
  readonly prepare?: ((args: unknown) => unknown) | undefined;
  /** The JSON text of `schema`, made when a validator first needs it. */
  schemaText?: string;
}

/** The tools of every module of this isolate, by the number that Rust gave the module. */
export const modules = new SafeMap<number, LoadedTool[]>();

/** Imports the module at `url` and answers the request `id` with what it offers. */
export function loadModule(id: number, moduleId: number, url: string): void {
  const call: RunningCall = {
    id,
    owner: url,
    moduleId,
    abort: null,
    ended: false,
    fail: (error) => finish(call, ReplyKind.Failed, failure(error)),
  };
  runningCalls.set(id, call);
  loadBegins();
  const loading = onBehalfOf(call, () => load(moduleId, url));
  captured.then(
    loading,
    (description) => finish(call, ReplyKind.Done, description),
    (error) => call.fail(error),
  );
}

function finish(call: RunningCall, kind: number, text: string): void {
  if (call.ended) return;
  call.ended = true;
  runningCalls.delete(call.id);
  checkBuiltIns(call.moduleId);
  loadEnds();
  reply(call.id, kind, text);
}

async function load(moduleId: number, url: string): Promise<string> {
  const offered = await offeredBy(await imported(url));
  if (offered === undefined) throw new LoadRefusal("Tool must export a default function");
  const tools: LoadedTool[] = [];
  const described: unknown[] = [];
  for (let index = 0; index < offered.tools.length; index++) {
    described.push(take(offered.tools[index] as OfferedTool, index, tools));
  }
  modules.set(moduleId, tools);
  const listens = tools.some((tool) => typeof tool.authored.onSession === "function");
  const { dialect, unserved } = offered;
  const { name, because } = DIALECTS[dialect];
  // Nothing needs to be said of haft's own form, which is that of nearly all modules.
  const of = dialect === "ohMyPi" ? undefined : { name, because };
  return captured.jsonStringify({ tools: described, listens, unserved, dialect: of });
}

async function imported(url: string): Promise<ImportedModule> {
  if (url === "haft:resolve") return { namespace: {}, factory: resolveTool, path: url, query: "" };
  const namespace = await import(url);
  const { pathname, search } = new URL(url);
  const path = decodeURIComponent(pathname);
  return { namespace, factory: factoryOf(namespace), path, query: search };
}

// CommonJS modules arrive as a namespace whose default is `module.exports`; transpiled ones keep
// the real default one level deeper.
function factoryOf(namespace: any): ((api: unknown) => unknown) | undefined {
  const exported = namespace.default ?? namespace;
  if (typeof exported === "function") return exported;
  if (exported?.__esModule && typeof exported.default === "function") return exported.default;
  return undefined;
}

/** Checks one tool that a module offers; what is fine is pushed to `tools`. */
function take(offered: OfferedTool, index: number, tools: LoadedTool[]): unknown {
  const element = offered.tool;
  try {
    if (!isTool(element)) return { index, error: invalidElement(index) };
    const parameters = element.parameters;
    const { schema, kind } = wireSchema(parameters);
    const order = offered.order ?? argumentOrder(element.execute);
    const tool: LoadedTool = {
      name: element.name,
      authored: element,
      parameters,
      schema,
      kind,
      order,
      prepare: offered.prepare,
    };
    const description = describe(tool, tools.length);
    tools.push(tool);
    return description;
  } catch (error) {
    return { index, name: safeName(element), error: `Failed to load tool: ${messageOf(error)}` };
  }
}

function isTool(element: any): boolean {
  return (
    typeof element === "object" &&
    element !== null &&
    typeof element.name === "string" &&
    element.name !== "" &&
    typeof element.description === "string" &&
    "parameters" in element &&
    typeof element.execute === "function"
  );
}

function invalidElement(index: number): string {
  return (
    `Tool factory returned invalid tool at index ${index}: ` +
    "expected object with string name, string description, parameters, and execute function"
  );
}

function describe(tool: LoadedTool, index: number): Record<string, unknown> {
  const authored = tool.authored;
  return {
    index,
    name: tool.name,
    label: typeof authored.label === "string" ? authored.label : undefined,
    description: authored.description,
    inputSchema: tool.schema,
    // Other libraries check arguments themselves, whatever the validator makes of their schema.
    checkedBySchema: tool.kind === "json" || tool.kind === "typebox" || undefined,
    approval: fixedStance(authored),
    hidden: authored.hidden === true,
    strict: typeof authored.strict === "boolean" ? authored.strict : undefined,
    hasLiveDescription: hasGetter(authored, "description"),
    // Left out where there is none, which is nearly always.
    rendersCall: typeof authored.renderCall === "function" || undefined,
    rendersResult: typeof authored.renderResult === "function" || undefined,
    unusable: unusable(authored),
    argumentOrder: tool.order,
    ...outputSchema(authored.outputSchema),
    hints: clientHints(authored),
  };
}

// The schema of `details`, or why there is none.
function outputSchema(declared: unknown): { outputSchema?: object; noOutputSchema?: string } {
  if (declared === undefined || declared === null) return {};
  try {
    return { outputSchema: wireSchema(declared).schema };
  } catch (error) {
    return { noOutputSchema: messageOf(error).replaceAll("`parameters`", "it") };
  }
}

// The author's hints for clients: texts, numbers and flags only, which Rust checks. Left out if
// they are empty, as nearly always.
function clientHints(authored: AuthoredTool): Record<string, unknown> | undefined {
  const { mcp, long, loadMode } = authored;
  const isGiven = mcp !== undefined && mcp !== null;
  if (!isGiven && long !== true && loadMode !== "essential") return undefined;
  const own = typeof mcp === "object" && mcp !== null ? mcp : {};
  return {
    task: plain(own.task) ?? (long === true ? "always" : undefined),
    alwaysLoad: plain(own.alwaysLoad) ?? (loadMode === "essential" || undefined),
    searchHint: plain(own.searchHint),
    notAnObject: !isGiven || own === mcp ? undefined : kindOf(mcp),
  };
}

function plain(value: unknown): unknown {
  if (value === undefined || value === null) return undefined;
  const isPlain = typeof value === "string" || typeof value === "boolean";
  return isPlain || typeof value === "number" ? value : { is: kindOf(value) };
}

const FUNCTIONS = ["renderCall", "renderResult", "onSession", "formatApprovalDetails"] as const;

// Members that are there and cannot be called, with what they are. They are ignored, as in the original.
function unusable(authored: any): [string, string][] | undefined {
  const found: [string, string][] = [];
  for (const name of FUNCTIONS) {
    const value = authored[name];
    if (value !== undefined && value !== null && typeof value !== "function") {
      found.push([name, kindOf(value)]);
    }
  }
  return found.length > 0 ? found : undefined;
}

/** Returns the kind of a value, in words. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (captured.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Answers with the description of a tool as its author computes it now. */
export function currentDescription(id: number, moduleId: number, toolIndex: number): void {
  try {
    const description = modules.get(moduleId)?.[toolIndex]?.authored.description;
    if (typeof description === "string") reply(id, ReplyKind.Done, description);
    else reply(id, ReplyKind.Failed, "the description is not a text any more");
  } catch (error) {
    reply(id, ReplyKind.Failed, messageOf(error));
  }
}

function hasGetter(object: any, key: string): boolean {
  for (let own = object; own !== null; own = Object.getPrototypeOf(own)) {
    const property = Object.getOwnPropertyDescriptor(own, key);
    if (property) return property.get !== undefined;
  }
  return false;
}

// What the tool says about approval once and for all; nothing if it depends on the call.
function fixedStance(authored: AuthoredTool): Stance | undefined {
  if (hasGetter(authored, "approval") || typeof authored.approval === "function") return undefined;
  return stanceFrom(authored.approval);
}

function safeName(element: any): string | undefined {
  try {
    return typeof element?.name === "string" ? element.name : undefined;
  } catch {
    return undefined;
  }
}

/** A refusal whose text is complete: it gets no prefix. */
class LoadRefusal extends Error {}

// JSON, because the place of the error travels beside its text.
function failure(error: unknown): string {
  const text =
    error instanceof LoadRefusal ? error.message : `Failed to load tool: ${messageOf(error)}`;
  return captured.jsonStringify({ error: text, stack: stackOf(error) });
}

/** The stack of an error, with the author's lines; nothing for other values. */
export function stackOf(error: unknown): string | undefined {
  try {
    return error instanceof Error && typeof error.stack === "string" ? error.stack : undefined;
  } catch {
    return undefined;
  }
}

type Reader = (module: ImportedModule) => Offered | undefined | Promise<Offered | undefined>;

/**
 * Functions of the dialects, in the order of `27_dialect_table.ts`. Each returns nothing for a module
 * that is not of its kind.
 */
const READERS: readonly Reader[] = [
  joinedTools,
  opencodePlugins,
  factoryTools,
  enteredTools,
  opencodeTools,
  exportedTools,
];

/** Returns the tools of a module in the first dialect that it fits, or nothing if it fits none. */
async function offeredBy(module: ImportedModule): Promise<Offered | undefined> {
  for (const read of READERS) {
    const offered = await read(module);
    if (offered !== undefined) return offered;
  }
  return undefined;
}
