// A call that may need approval: everything up to the start, then a pause, then the start.
//
// Rust calls `prepareCall`, decides with the stance that it is answered, and calls `startCall` or
// `forgetCall`. The arguments are checked once and frozen (`33_frozen.ts`): what the user is shown is what
// `execute` gets. Nothing of the tool but its own `approval` and `formatApprovalDetails` has run when
// the user is asked.

import { captured, onBehalfOf, ReplyKind, reply, SafeMap, withoutCall } from "ext:haft/00_state.ts";
import { stanceFrom, stanceOn } from "ext:haft/17_approval.ts";
import { messageOf } from "ext:haft/23_json_careful.ts";
import type { LoadedTool } from "ext:haft/30_load.ts";
import { execute, findTool, LOST, type Prepared, running, whenPrepared } from "ext:haft/31_call.ts";
import { frozenCopy, frozenText } from "ext:haft/33_frozen.ts";

interface Waiting {
  tool: LoadedTool;
  moduleId: number;
  identity: object;
  /** A copy that nothing else knows. */
  frozen: unknown;
  /** Text of it that the user sees. */
  text: string;
}

/** The calls that wait, by the number of the request that prepared them. */
const waiting = new SafeMap<number, Waiting>();

/** The requests whose arguments are being checked. */
const preparing = new SafeMap<number, true>();

/**
 * Checks the arguments and answers with the tool's stance on this call. Of a call that was approved in an
 * isolate with fewer rights (`isApproved` is not 0) the tool is not asked again.
 */
export function prepareCall(
  id: number,
  moduleId: number,
  toolIndex: number,
  isApproved: number,
  argumentsText: string,
): void {
  const tool = findTool(moduleId, toolIndex);
  if (tool === undefined) return reply(id, ReplyKind.Failed, LOST);
  preparing.set(id, true);
  const pause = (prepared: Prepared) => {
    // It was forgotten meanwhile.
    if (!preparing.delete(id)) return;
    if (!prepared.ok) return reply(id, ReplyKind.Refused, prepared.text);
    let frozen: unknown;
    let text: string;
    try {
      frozen = frozenCopy(prepared.args);
      text = frozenText(frozen);
    } catch (error) {
      // A getter or a proxy of the tool's own schema.
      return reply(id, ReplyKind.Refused, messageOf(error));
    }
    const identity = {};
    const asked = () => stanceOn(tool.authored, () => frozenCopy(frozen));
    const stance =
      isApproved === 0
        ? onBehalfOf(withoutCall(id, tool.name, moduleId, identity), asked)
        : stanceFrom(undefined);
    stance.arguments = text;
    waiting.set(id, { tool, moduleId, identity, frozen, text });
    reply(id, ReplyKind.Done, captured.jsonStringify(stance));
  };
  const broken = (error: unknown) => {
    preparing.delete(id);
    reply(id, ReplyKind.Refused, messageOf(error));
  };
  whenPrepared(tool, argumentsText, pause, broken);
}

/** Starts the call that the request `preparedId` prepared; its answers go to the request `id`. */
export function startPrepared(
  id: number,
  preparedId: number,
  isRecorded: number,
  toolCallId: string,
  span?: string,
): void {
  const call = waiting.get(preparedId);
  if (call === undefined) return reply(id, ReplyKind.Failed, LOST);
  waiting.delete(preparedId);
  const { tool, moduleId, identity } = call;
  const started = running(id, tool.name, moduleId, isRecorded !== 0, span, identity);
  execute(started, tool, toolCallId, unchanged(call));
}

// An instance of a tool's own class is shared, so it may be another than the user was shown.
function unchanged({ tool, frozen, text }: Waiting): Prepared {
  let now: string;
  try {
    now = frozenText(frozen);
  } catch (error) {
    now = messageOf(error);
  }
  if (now === text) return { ok: true, args: frozen };
  return { ok: false, text: `Tool "${tool.name}" changed its arguments after they were shown.` };
}

/** Drops a call that may not start. */
export function forgetPrepared(preparedId: number): void {
  preparing.delete(preparedId);
  waiting.delete(preparedId);
}
