// JSON-RPC 2.0 with haft's process: one message a line, requests in both directions (docs/rpc.md).

import { errorOfResponse, HaftError, textOf } from "./errors.js";

/** Longest line that haft reads, in bytes. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** Bytes that may wait for haft to read them before updates of tools are merged. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** The two directions of a pipe or socket, as far as the library uses them. */
export interface Duplex {
  input: NodeJS.ReadableStream & { destroy(): unknown };
  output: NodeJS.WritableStream & { destroy(): unknown; writableLength?: number };
  /** Decides whether the streams keep the event loop running. */
  keepAlive(on: boolean): void;
}

/** Receivers of haft's messages. */
export interface Handlers {
  request(method: string, params: any, id: string): unknown;
  notification(method: string, params: any): void;
  /** The connection ended. Called once. */
  ended(error: HaftError): void;
}

interface Waiting {
  resolve(result: any): void;
  reject(error: Error): void;
}

export class Connection {
  readonly #streams: Duplex;
  readonly #handlers: Handlers;
  readonly #waiting = new Map<number, Waiting>();
  /** Newest update of each call that waits for haft to read. */
  readonly #updates = new Map<string, string>();
  #chunks: Uint8Array[] = [];
  #lastId = 0;
  #holds = 0;
  #end: HaftError | undefined;

  constructor(streams: Duplex, handlers: Handlers) {
    this.#streams = streams;
    this.#handlers = handlers;
    streams.input.on("data", (chunk) => this.#take(chunk as unknown as Uint8Array));
    // A broken pipe is reported by the end of the process, which knows more.
    streams.input.on("error", () => {});
    streams.output.on("error", () => {});
    streams.output.on("drain", () => this.#flush());
    streams.keepAlive(false);
  }

  /** Keeps the event loop running until the returned function is called. */
  hold(): () => void {
    if (this.#holds++ === 0) this.#streams.keepAlive(true);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      if (--this.#holds === 0) this.#streams.keepAlive(false);
    };
  }

  /** Sends a request. The promise is settled when haft answers or the connection ends. */
  request(method: string, params?: unknown): Promise<any> {
    if (this.#end !== undefined) return Promise.reject(this.#end);
    const id = ++this.#lastId;
    let line: string;
    try {
      line = lineOf({ jsonrpc: "2.0", id, method, params });
    } catch (error) {
      return Promise.reject(error);
    }
    const release = this.hold();
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#streams.output.write(line);
    }).finally(release);
  }

  notify(method: string, params: unknown): void {
    if (this.#end === undefined) {
      this.#streams.output.write(lineOf({ jsonrpc: "2.0", method, params }));
    }
  }

  /** Sends an update of a call. While haft does not read, the newest update of a call replaces older ones. */
  update(callId: string, partialResult: unknown): void {
    if (this.#end !== undefined) return;
    const line = lineOf({
      jsonrpc: "2.0",
      method: "program/update",
      params: { callId, partialResult },
    });
    if ((this.#streams.output.writableLength ?? 0) > MAX_UNREAD_BYTES) {
      this.#updates.set(callId, line);
    } else {
      this.#streams.output.write(line);
    }
  }

  /** Ends the connection: every pending and every later request fails with `error`. */
  fail(error: HaftError): void {
    if (this.#end !== undefined) return;
    this.#end = error;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#updates.clear();
    this.#chunks = [];
    for (const { reject } of waiting) reject(error);
    this.#handlers.ended(error);
    this.#streams.input.destroy();
    this.#streams.output.destroy();
  }

  #flush(): void {
    for (const line of this.#updates.values()) this.#streams.output.write(line);
    this.#updates.clear();
  }

  #take(chunk: Uint8Array): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(10, start);
      if (end < 0) break;
      this.#chunks.push(chunk.subarray(start, end));
      const line = Buffer.concat(this.#chunks).toString("utf8");
      this.#chunks = [];
      start = end + 1;
      this.#receive(line);
    }
    if (start < chunk.length && this.#end === undefined) this.#chunks.push(chunk.subarray(start));
  }

  #receive(line: string): void {
    if (this.#end !== undefined || line.trim() === "") return;
    let message: any;
    try {
      message = JSON.parse(line);
    } catch (error) {
      this.fail(
        new HaftError(
          "protocol",
          `haft sent a line that is not JSON: ${line.slice(0, 100)}`,
          undefined,
          error,
        ),
      );
      return;
    }
    if (typeof message.method === "string") {
      if (message.id === undefined)
        this.#handlers.notification(message.method, message.params ?? {});
      else void this.#answer(message);
      return;
    }
    const waiting = this.#waiting.get(message.id);
    if (waiting === undefined) return;
    this.#waiting.delete(message.id);
    if (message.error === undefined) waiting.resolve(message.result);
    else waiting.reject(errorOfResponse(message.error));
  }

  /** Answers a request of haft. An exception is answered as an error. */
  async #answer({ id, method, params }: any): Promise<void> {
    let line: string;
    try {
      const result = await this.#handlers.request(method, params ?? {}, id);
      line = lineOf({ jsonrpc: "2.0", id, result: result ?? null });
    } catch (error) {
      const code = error instanceof HaftError && error.kind === "protocol" ? -32601 : -32000;
      line = lineOf({ jsonrpc: "2.0", id, error: { code, message: textOf(error) } });
    }
    if (this.#end !== undefined) return;
    const callId = params?.callId;
    const update = typeof callId === "string" ? this.#updates.get(callId) : undefined;
    if (update !== undefined) {
      this.#updates.delete(callId);
      this.#streams.output.write(update);
    }
    this.#streams.output.write(line);
  }
}

function lineOf(message: object): string {
  const line = JSON.stringify(message);
  // A character is at most three bytes of UTF-8 for each unit of the text.
  if (line.length * 3 > MAX_LINE_BYTES && Buffer.byteLength(line) > MAX_LINE_BYTES) {
    throw new HaftError("usage", "the message to haft is longer than 64 MB");
  }
  return `${line}\n`;
}
