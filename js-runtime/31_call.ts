// Runs one call: arguments, `execute`, updates, result (spec omp 7 and 8).
//
// Rust calls `invoke`, `checkArguments` and `cancel` directly; every answer goes back through
// `reply`. The plain path (valid arguments, a synchronous or resolved result) allocates as little
// as it can: it is what a benchmark sees.

import { op_haft_log, op_haft_schema_check, op_haft_start } from "ext:core/ops";
import {
  captured,
  LogLevel,
  onBehalfOf,
  ReplyKind,
  type RunningCall,
  reply,
  runningCalls,
} from "ext:haft/00_state.ts";
import { callBegins } from "ext:haft/09_load_trace.ts";
import { contextOf } from "ext:haft/15_context.ts";
import { prepareArguments } from "ext:haft/21_arguments.ts";
import { checkBuiltIns } from "ext:haft/22_intact.ts";
import { normaliseResult, thrownToResult, toJson } from "ext:haft/25_result.ts";
import { callTool, type NestedOptions } from "ext:haft/29_nested.ts";
import { type LoadedTool, modules, stackOf } from "ext:haft/30_load.ts";
import { inSpan } from "ext:haft/44_spans.ts";

/**
 * Calls the tool `toolIndex` of the module `moduleId` with arguments in JSON text. If `isRecorded` is not 0,
 * the answers that it gets from outside are recorded.
 */
export function invoke(
  id: number,
  moduleId: number,
  toolIndex: number,
  isRecorded: number,
  toolCallId: string,
  argumentsText: string,
  span?: string,
): void {
  const tool = findTool(moduleId, toolIndex);
  if (tool === undefined) return reply(id, ReplyKind.Failed, LOST);
  const call = running(id, tool.name, moduleId, isRecorded !== 0, span);
  whenPrepared(
    tool,
    argumentsText,
    (prepared) => execute(call, tool, toolCallId, prepared),
    call.fail,
  );
}

/** Checks arguments without running anything: answers `Done` or `Refused`. */
export function checkArguments(
  id: number,
  moduleId: number,
  toolIndex: number,
  argumentsText: string,
): void {
  const tool = findTool(moduleId, toolIndex);
  if (tool === undefined) return reply(id, ReplyKind.Failed, LOST);
  const answer = (prepared: Prepared) =>
    prepared.ok ? reply(id, ReplyKind.Done, "true") : reply(id, ReplyKind.Refused, prepared.text);
  const broken = (error: unknown) => reply(id, ReplyKind.Failed, String(error));
  whenPrepared(tool, argumentsText, answer, broken);
}

/** Asks a running call to end. */
export function cancel(id: number, reason: string): void {
  runningCalls.get(id)?.abort?.abort(reason);
}

/** Reply for a module that this isolate does not have. */
export const LOST = "the module is not loaded in this isolate";

export type Prepared = { ok: true; args: unknown } | { ok: false; text: string };

export function findTool(moduleId: number, toolIndex: number): LoadedTool | undefined {
  return modules.get(moduleId)?.[toolIndex];
}

/** Checks the arguments and goes on with what came of it, at once unless a schema is asynchronous. */
export function whenPrepared(
  tool: LoadedTool,
  argumentsText: string,
  next: (prepared: Prepared) => void,
  broken: (error: unknown) => void,
): void {
  try {
    const prepared = prepareArguments(tool, argumentsText, checkSchema);
    if (prepared instanceof Promise) captured.then(prepared, next, broken);
    else next(prepared);
  } catch (error) {
    broken(error);
  }
}

// The op answers with an empty text when all is well, which is nearly always.
function checkSchema(schemaText: string, valueText: string) {
  const issues = op_haft_schema_check(schemaText, valueText);
  return issues === "" ? null : captured.jsonParse(issues);
}

/** A call of the tool `owner` that runs from now on. */
export function running(
  id: number,
  owner: string,
  moduleId: number,
  isRecorded: boolean,
  span?: string,
  identity?: object,
): RunningCall {
  const call: RunningCall = {
    id,
    owner,
    moduleId,
    identity,
    isRecorded,
    span,
    abort: new captured.AbortController(),
    ended: false,
    fail: (error) => {
      if (!call.ended) logThrown(id, owner, error);
      finish(call, () => thrownToResult(error));
    },
  };
  runningCalls.set(id, call);
  callBegins();
  return call;
}

// The result says what was thrown; where it was thrown is for the tool's author.
function logThrown(id: number, owner: string, error: unknown): void {
  const stack = stackOf(error);
  if (stack !== undefined) op_haft_log(LogLevel.Debug, id, owner, stack, "");
}

/** Runs `execute` with prepared arguments, and answers. */
export function execute(
  call: RunningCall,
  tool: LoadedTool,
  toolCallId: string,
  prepared: Prepared,
): void {
  if (!prepared.ok) {
    end(call);
    return reply(call.id, ReplyKind.Refused, prepared.text);
  }
  const onUpdate = (partial: unknown) => {
    if (!call.ended) reply(call.id, ReplyKind.Update, toJson(normaliseResult(partial)));
  };
  // Once the call was asked to end its tool never starts; the request is answered by then.
  if (!op_haft_start(call.id)) return end(call);
  let result: unknown;
  try {
    const start = () => started(call, tool, toolCallId, prepared.args, onUpdate);
    result = inSpan(call.span, () => onBehalfOf(call, start));
  } catch (error) {
    return call.fail(error);
  }
  const done = (value: unknown) => finish(call, () => normaliseResult(value));
  if (isThenable(result)) captured.then(captured.resolve(result), done, call.fail);
  else done(result);
}

/** Calls `execute` with its arguments in the tool's order. */
function started(
  call: RunningCall,
  { authored, order }: LoadedTool,
  toolCallId: string,
  args: unknown,
  onUpdate: (partial: unknown) => void,
  signal: AbortSignal = call.abort!.signal,
): unknown {
  const context = contextOf(call);
  if (order !== "pi") return authored.execute(toolCallId, args, onUpdate, context, signal);
  // They are not enumerable: a copy of the context has the members of the original.
  Object.defineProperties(context, {
    signal: { value: signal },
    executeTool: {
      value: (name: string, args: unknown, options: NestedOptions = {}) =>
        callTool(call, name, args, options),
    },
  });
  return authored.execute(toolCallId, args, signal, onUpdate, context);
}

function finish(call: RunningCall, result: () => ReturnType<typeof thrownToResult>): void {
  if (call.ended) return;
  let text: string;
  try {
    text = toJson(result());
  } catch {
    // Only a tool that replaced what our own code stands on gets here.
    text = BROKEN;
  }
  end(call);
  checkBuiltIns(call.moduleId);
  reply(call.id, ReplyKind.Done, text);
}

const BROKEN =
  '{"content":[{"type":"text","text":"Tool changed built-in functions of JavaScript, ' +
  'so its result cannot be read."}],"details":{},"isError":true}';

function end(call: RunningCall): void {
  call.ended = true;
  runningCalls.delete(call.id);
}

function isThenable(value: any): boolean {
  return value !== null && typeof value === "object" && typeof value.then === "function";
}
