// Spans of tools in the trace of their call: those of `fetch`, of Node's `http`, and of
// `@opentelemetry/api` (spec telemetry).
//
// Deno makes the spans. Here its current span becomes that of the call, which haft sends itself.

const KEY = Symbol.for("OpenTelemetry Context Key SPAN");

/** Deno's context manager; absent while no spans are sent. It is taken before any tool runs. */
let contexts: any;

/** Begins to send spans, if the isolate was started for that. */
export function startSpans(): void {
  contexts = (globalThis as any)[Symbol.for("opentelemetry.js.api.1")]?.context;
}

/** Runs `action` in the span `traceparent` of a call, if there is one. */
export function inSpan<T>(traceparent: string | undefined, action: () => T): T {
  if (traceparent === undefined || contexts === undefined) return action();
  return contexts.with(contexts.active().setValue(KEY, new CallSpan(traceparent)), action);
}

/** The span of a call as tools see it. They cannot change it. */
class CallSpan {
  #context: { traceId: string; spanId: string; traceFlags: number; isRemote: boolean };

  constructor(traceparent: string) {
    const [, traceId = "", spanId = "", flags = ""] = traceparent.split("-");
    this.#context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  }

  spanContext() {
    return this.#context;
  }

  isRecording() {
    return false;
  }

  setAttribute() {
    return this;
  }

  setAttributes() {
    return this;
  }

  addEvent() {
    return this;
  }

  addLink() {
    return this;
  }

  addLinks() {
    return this;
  }

  setStatus() {
    return this;
  }

  updateName() {
    return this;
  }

  recordException() {}

  end() {}
}
