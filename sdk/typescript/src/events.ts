// Events as an async iterable and by listener.

import type { HaftEvent } from "./types.js";

/** Events that wait for a slow reader; older ones are dropped. */
const CAPACITY = 1000;

interface Reader {
  queue: HaftEvent[];
  wake: (() => void) | undefined;
}

/** Events of one haft. Each loop gets the events from its start on. */
export class Events implements AsyncIterable<HaftEvent> {
  readonly #hold: () => () => void;
  readonly #readers = new Set<Reader>();
  readonly #listeners = new Set<(event: HaftEvent) => void>();
  #ended: HaftEvent | undefined;

  /** @internal `hold` keeps the event loop running while the program waits for an event. */
  constructor(hold: () => () => void) {
    this.#hold = hold;
  }

  /** Calls `listener` for each event of a type. Returns a function that removes the listener. */
  on<Type extends HaftEvent["type"]>(
    type: Type,
    listener: (event: Extract<HaftEvent, { type: Type }>) => void,
  ): () => void {
    const filtered = (event: HaftEvent) => {
      if (event.type === type) listener(event as Extract<HaftEvent, { type: Type }>);
    };
    this.#listeners.add(filtered);
    return () => this.#listeners.delete(filtered);
  }

  /** @internal */
  emit(event: HaftEvent): void {
    if (this.#ended !== undefined) return;
    if (event.type === "ended") this.#ended = event;
    for (const { queue, wake } of this.#readers) {
      if (queue.length === CAPACITY) queue.shift();
      queue.push(event);
      wake?.();
    }
    for (const listener of [...this.#listeners]) {
      try {
        listener(event);
      } catch (thrown) {
        // An exception of a listener must not reach haft's messages. Listeners of errors get it.
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        if (event.type !== "error") this.emit({ type: "error", error });
      }
    }
  }

  [Symbol.asyncIterator](): AsyncIterator<HaftEvent, undefined> {
    const reader: Reader = { queue: [], wake: undefined };
    const start = this.#ended;
    if (start === undefined) this.#readers.add(reader);
    else reader.queue.push(start);
    let isDone = false;
    const finish = (): IteratorResult<HaftEvent, undefined> => {
      isDone = true;
      this.#readers.delete(reader);
      reader.wake?.();
      return { done: true, value: undefined };
    };
    return {
      next: async () => {
        while (!isDone) {
          const value = reader.queue.shift();
          if (value !== undefined) return { done: false, value };
          if (this.#ended !== undefined) return finish();
          const release = this.#hold();
          await new Promise<void>((resolve) => {
            reader.wake = resolve;
          });
          reader.wake = undefined;
          release();
        }
        return { done: true, value: undefined };
      },
      return: async () => finish(),
    };
  }
}
