// Calls of tools of the catalog as parts of a running call: `ctx.executeTool` of pi.
//
// Each is a call of the host like any other: validated, approved, logged and cancelled. It ends with the call
// that it is a part of.

import { op_haft_nested_cancel, op_haft_nested_next, op_haft_nested_start } from "ext:core/ops";
import { captured, type RunningCall } from "ext:haft/00_state.ts";

export interface NestedOptions {
  signal?: AbortSignal;
  onUpdate?: (partial: unknown) => void;
}

let nextCall = 1;

/** Calls the tool `name` of the catalog. Throws if it could not be run. */
export async function callTool(
  call: RunningCall,
  name: string,
  args: unknown,
  { signal, onUpdate }: NestedOptions,
): Promise<unknown> {
  signal?.throwIfAborted();
  const id = nextCall++;
  const cancel = () => op_haft_nested_cancel(id);
  op_haft_nested_start(call.id, id, `${name}`, captured.jsonStringify(args ?? {}));
  signal?.addEventListener("abort", cancel, { once: true });
  try {
    for (;;) {
      const event = captured.jsonParse(await op_haft_nested_next(id));
      if (event.update !== undefined) onUpdate?.(event.update);
      else if (event.failed !== undefined) throw new Error(event.failed);
      else return event.result;
    }
  } finally {
    signal?.removeEventListener("abort", cancel);
    // Without effect, unless `onUpdate` has thrown.
    cancel();
  }
}
