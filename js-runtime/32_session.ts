// Delivers session events to every `onSession`, one after another in load order (spec omp 8).
// If a listener throws, the error is logged and the other listeners are still called.

import { captured, onBehalfOf, ReplyKind, reply, withoutCall } from "ext:haft/00_state.ts";
import { logger } from "ext:haft/13_logger.ts";
import { contextOf, earlyEvent } from "ext:haft/15_context.ts";
import { modules } from "ext:haft/30_load.ts";

/**
 * `text` is the JSON of the event, `only` a list of the modules that get it: all if it is empty.
 * Resolves when all listeners have ended.
 */
export function sessionEvent(id: number, text: string, only: string): void {
  const among = only === "" ? undefined : (captured.jsonParse(only) as number[]);
  captured.then(
    deliver(id, captured.jsonParse(text), among),
    () => reply(id, ReplyKind.Done, "true"),
    (error) => reply(id, ReplyKind.Failed, String(error)),
  );
}

/** The events whose `previousSessionFile` is there and undefined, which JSON cannot say. */
const WITHOUT_FILE = ["start", "switch", "branch", "tree", "shutdown"];

async function deliver(id: number, told: any, among?: number[]): Promise<void> {
  const event = WITHOUT_FILE.includes(told?.reason)
    ? { reason: told.reason, previousSessionFile: undefined, ...told }
    : { ...told };
  Object.setPrototypeOf(event, earlyEvent);
  for (const [moduleId, tools] of modules) {
    if (among !== undefined && !among.includes(moduleId)) continue;
    for (const tool of tools) {
      if (typeof tool.authored["onSession"] !== "function") continue;
      const listener = withoutCall(id, tool.name, moduleId);
      try {
        await onBehalfOf(listener, () => tool.authored["onSession"](event, contextOf()));
      } catch (error) {
        logger.warn("Custom tool onSession error", { tool: tool.name, error: String(error) });
      }
    }
  }
}
