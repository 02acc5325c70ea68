// Uncaught errors: floating rejections and exceptions of timers and events.
//
// In the original each of them ends the whole program. Here it ends the call on whose behalf the
// code ran, or is a line in the log when that call is already over.

import { core } from "ext:core/mod.js";
import { currentCall } from "ext:haft/00_state.ts";
import { logger } from "ext:haft/13_logger.ts";
import { messageOf } from "ext:haft/23_json_careful.ts";
import { stackOf } from "ext:haft/30_load.ts";

/** Puts the handlers in place; called once when the isolate starts. */
export function guardUncaught(): void {
  core.setUnhandledPromiseRejectionHandler((promise: Promise<unknown>, reason: unknown) => {
    // A listener of the tool's own comes first, as in any program.
    const event = new PromiseRejectionEvent("unhandledrejection", {
      cancelable: true,
      promise,
      reason,
    });
    if (globalThis.dispatchEvent(event)) blame("unhandled rejection", reason);
    return true;
  });
  core.setReportExceptionCallback((error: unknown) => {
    const event = new ErrorEvent("error", {
      cancelable: true,
      error,
      message: messageOf(error),
    });
    if (globalThis.dispatchEvent(event)) blame("uncaught exception", error);
  });
}

function blame(what: string, error: unknown): void {
  const call = currentCall.get();
  if (call !== undefined && !call.ended) {
    call.fail(error);
    return;
  }
  logger.warn(`${what}: ${messageOf(error)}`, { stack: stackOf(error) });
}
