// `pi.events`: a small bus between the tools of one isolate. If a listener throws, the error is logged
// and the other listeners are still called.

import { noticeTrace } from "ext:haft/09_load_trace.ts";
import { logger } from "ext:haft/13_logger.ts";

type Listener = (...args: unknown[]) => unknown;

const listeners = new Map<string, Set<Listener>>();

function report(name: string, error: unknown): void {
  logger.warn("an event listener threw", { event: name, error: String(error) });
}

export const events = {
  /** Returns the function that takes the listener away again. */
  on(name: string, listener: Listener): () => void {
    noticeTrace("it listens to pi.events");
    let set = listeners.get(name);
    if (!set) listeners.set(name, (set = new Set()));
    set.add(listener);
    return () => events.off(name, listener);
  },
  once(name: string, listener: Listener): () => void {
    const remove = events.on(name, (...args) => {
      remove();
      return listener(...args);
    });
    return remove;
  },
  off(name: string, listener: Listener): void {
    listeners.get(name)?.delete(listener);
  },
  emit(name: string, ...args: unknown[]): boolean {
    noticeTrace("it emits pi.events");
    const set = listeners.get(name);
    for (const listener of set ? [...set] : []) {
      try {
        const result = listener(...args);
        if (result instanceof Promise) result.catch((error) => report(name, error));
      } catch (error) {
        report(name, error);
      }
    }
    return set !== undefined && set.size > 0;
  },
};
