// Parser of `text/event-stream` responses. `EventSource` can neither send POST requests nor a
// token.

export interface ServerEvent {
  event: string;
  data: string;
  id: string;
}

/** Returns the events of a stream, until it ends or its request is aborted. */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.pipeThrough(new TextDecoderStream() as any).getReader();
  let rest = "";
  let pending = empty();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      const lines = rest.split(/\r\n|\n|\r/);
      // A carriage return at the end may be half of a line break.
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line !== "") {
          pending = take(pending, line);
        } else {
          if (pending.data.length > 0) yield { ...pending, data: pending.data.join("\n") };
          pending = empty();
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

interface Pending {
  event: string;
  data: string[];
  id: string;
}

function empty(): Pending {
  return { event: "message", data: [], id: "" };
}

function take(pending: Pending, line: string): Pending {
  const colon = line.indexOf(":");
  if (colon === 0) return pending;
  const field = colon === -1 ? line : line.slice(0, colon);
  const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
  if (field === "event") pending.event = value;
  if (field === "data") pending.data.push(value);
  if (field === "id") pending.id = value;
  return pending;
}
