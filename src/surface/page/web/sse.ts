// Events of `text/event-stream` responses. `EventSource` can neither send POST requests nor a token.

import { EventSourceParserStream } from "eventsource-parser/stream";

export interface ServerEvent {
  event: string;
  data: string;
}

/** Returns the events of a stream, until it ends or its request is aborted. */
export async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const texts = body.pipeThrough(new TextDecoderStream() as any);
  // Not every browser can iterate over a stream.
  const reader = texts.pipeThrough(new EventSourceParserStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield { event: value.event ?? "message", data: value.data };
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
