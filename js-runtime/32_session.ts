// Delivers session events to every `onSession`, one after another in load order (spec omp 8).
// A listener that throws is logged and stops nobody.

import { captured, ReplyKind, reply } from "ext:haft/00_state.ts";
import { logger } from "ext:haft/13_logger.ts";
import { toolContext, updateSession } from "ext:haft/15_context.ts";
import { modules } from "ext:haft/30_load.ts";

/** `text` is the JSON of `{event, branch?, entries?}`; answers when every listener is done. */
export function sessionEvent(id: number, text: string): void {
  captured.then(
    deliver(captured.jsonParse(text)),
    () => reply(id, ReplyKind.Done, "true"),
    (error) => reply(id, ReplyKind.Failed, String(error)),
  );
}

async function deliver(message: { event: unknown; branch?: any; entries?: any }): Promise<void> {
  updateSession(message);
  for (const tools of modules.values()) {
    for (const tool of tools) {
      if (typeof tool.authored.onSession !== "function") continue;
      try {
        await tool.authored.onSession(message.event, toolContext);
      } catch (error) {
        logger.warn("Custom tool onSession error", { tool: tool.name, error: String(error) });
      }
    }
  }
}
