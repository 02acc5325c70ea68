// Listeners for the abort of signals. Many calls may share the signal of an agent's run, and Node warns about more than
// ten event listeners, so a signal gets one for all of its calls.

interface Shared {
  listeners: Set<() => void>;
  run(): void;
}

const shared = new WeakMap<AbortSignal, Shared>();

function sharedOf(signal: AbortSignal): Shared {
  let found = shared.get(signal);
  if (found === undefined) {
    const listeners = new Set<() => void>();
    const run = () => {
      for (const listener of listeners) listener();
    };
    found = { listeners, run };
    shared.set(signal, found);
  }
  return found;
}

/** Calls `listener` when the signal is aborted. Returns a function that removes the listener. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const { listeners, run } = sharedOf(signal);
  if (listeners.size === 0) signal.addEventListener("abort", run);
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) signal.removeEventListener("abort", run);
  };
}
