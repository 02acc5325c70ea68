// `pi.pushPendingAction` and the tool `resolve`: previews that the model applies or discards later
// (spec omp 5.8).
//
// What waits is kept here, newest last; Rust keeps the order over all isolates and calls `resolve`
// in the isolate of the newest. An action that is being applied has left the stack: two answers at
// once cannot apply it twice. It comes back when applying fails.

import { op_haft_pending_done, op_haft_pending_push } from "ext:core/ops";
import { currentCall } from "ext:haft/00_state.ts";

type Ending = (reason: string, extra?: unknown) => any;

interface PendingAction {
  readonly id: number;
  readonly label: string;
  readonly sourceToolName: string;
  readonly apply: Ending;
  readonly reject: Ending | undefined;
}

const actions: PendingAction[] = [];
let nextId = 1;

/** Keeps an action until the model resolves it. */
export function pushPendingAction(given: any): void {
  const { label, apply, reject, sourceToolName } = given ?? {};
  if (typeof label !== "string" || typeof apply !== "function") {
    throw new TypeError("pushPendingAction needs a `label` and a function `apply`");
  }
  push({
    id: nextId++,
    label,
    sourceToolName: typeof sourceToolName === "string" ? sourceToolName : "custom_tool",
    // They may rely on the object that they were given with.
    apply: (reason, extra) => apply.call(given, reason, extra),
    reject: typeof reject === "function" ? (reason) => reject.call(given, reason) : undefined,
  });
}

function push(action: PendingAction): void {
  if (!op_haft_pending_push(action.id, action.label)) {
    throw new Error("Pending action store unavailable for custom tools in this runtime.");
  }
  actions[actions.length] = action;
}

/** The factory of the module `haft:resolve`. */
export function resolveTool(): Record<string, unknown> {
  return {
    name: "resolve",
    label: "Resolve",
    description: "Applies or discards the newest pending action: the one that was previewed last.",
    strict: true,
    parameters: {
      type: "object",
      properties: {
        action: { type: "string", enum: ["apply", "discard"] },
        reason: { type: "string", description: "why" },
        extra: { type: "object", description: "what else the action needs to know" },
      },
      required: ["action", "reason"],
      additionalProperties: false,
    },
    // Discarding only drops the action. The effects of applying are known only to the action.
    approval(asked: Asked) {
      const newest = actions.at(-1);
      const identity = currentCall.get()?.identity;
      if (newest !== undefined && identity !== undefined) chosen.set(identity, newest);
      return asked.action === "discard" ? "read" : "exec";
    },
    formatApprovalDetails: (asked: Asked) => [
      `${asked.action}: ${chosenNow()?.label ?? "nothing"}`,
      `because: ${asked.reason}`,
    ],
    execute: (_id: string, asked: Asked) => resolve(asked),
  };
}

interface Asked {
  action: "apply" | "discard";
  reason: string;
  extra?: unknown;
}

/** Which action the user was asked about: another may be on top by the time of the answer. */
const chosen = new WeakMap<object, PendingAction>();

function chosenNow(): PendingAction | undefined {
  const identity = currentCall.get()?.identity;
  return identity === undefined ? undefined : chosen.get(identity);
}

async function resolve(asked: Asked): Promise<unknown> {
  const { action, reason, extra } = asked;
  const pending = chosenNow();
  const place = pending === undefined ? -1 : actions.lastIndexOf(pending);
  if (pending === undefined || place < 0) {
    throw new Error("No pending action to resolve. Nothing to apply or discard.");
  }
  actions.splice(place, 1);
  op_haft_pending_done(pending.id);
  const { label, sourceToolName } = pending;
  let result: any;
  try {
    result =
      action === "apply" ? await pending.apply(reason, extra) : await pending.reject?.(reason);
  } catch (error) {
    if (action === "apply") push(pending);
    const what = action === "apply" ? "Apply" : "Discard";
    throw new Error(`${what} failed: ${error instanceof Error ? error.message : String(error)}`);
  }
  const done = action === "apply" ? "Applied" : "Discarded";
  result ??= { content: [{ type: "text", text: `${done}: ${label}. Reason: ${reason}` }] };
  const sourceResultDetails = result.details;
  const { content, isError, useless } = result;
  return {
    content,
    isError,
    useless,
    details: { action, reason, sourceToolName, label, sourceResultDetails },
  };
}
