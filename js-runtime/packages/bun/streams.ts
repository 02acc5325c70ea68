// Web streams to whole values, and Node's streams to Web streams.
//
// A stream of a process also has `text()` and the like, as in Bun.

import { builtin } from "../builtin.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** A process's output: a stream that can also be read at once. */
export interface OutputStream extends ReadableStream<Bytes> {
  text(): Promise<string>;
  json(): Promise<any>;
  bytes(): Promise<Bytes>;
  arrayBuffer(): Promise<ArrayBuffer>;
  blob(): Promise<Blob>;
}

export async function readableStreamToArray<T>(stream: ReadableStream<T>): Promise<T[]> {
  const chunks: T[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

export async function readableStreamToText(stream: ReadableStream): Promise<string> {
  return new Response(stream as BodyInit).text();
}

export async function readableStreamToJSON(stream: ReadableStream): Promise<any> {
  return JSON.parse(await readableStreamToText(stream));
}

export async function readableStreamToArrayBuffer(stream: ReadableStream): Promise<ArrayBuffer> {
  return new Response(stream as BodyInit).arrayBuffer();
}

export async function readableStreamToBytes(stream: ReadableStream): Promise<Bytes> {
  return new Uint8Array(await readableStreamToArrayBuffer(stream));
}

export async function readableStreamToBlob(stream: ReadableStream): Promise<Blob> {
  return new Response(stream as BodyInit).blob();
}

/** Web stream over a Node stream, which is paused while the Web stream is not read. */
export function webStream(source: NodeJS.ReadableStream): OutputStream {
  let ended = false;
  const stream = new ReadableStream<Bytes>({
    start(controller) {
      const end = () => {
        if (!ended) controller.close();
        ended = true;
      };
      source.on("data", (chunk: Uint8Array) => {
        if (ended) return;
        controller.enqueue(new Uint8Array(chunk));
        if ((controller.desiredSize ?? 0) <= 0) source.pause();
      });
      source.on("end", end);
      source.on("close", end);
      source.on("error", (error) => {
        if (!ended) controller.error(error);
        ended = true;
      });
      source.pause();
    },
    pull() {
      source.resume();
    },
    cancel() {
      ended = true;
      // The process must not block on a pipe that is not read.
      source.resume();
    },
  });
  return Object.assign(stream, {
    text: () => readableStreamToText(stream),
    json: () => readableStreamToJSON(stream),
    bytes: () => readableStreamToBytes(stream),
    arrayBuffer: () => readableStreamToArrayBuffer(stream),
    blob: () => readableStreamToBlob(stream),
  });
}

/** Converts everything that Bun accepts as bytes: text, buffers, blobs, files, responses, streams. */
export async function toBytes(data: unknown): Promise<Uint8Array> {
  const direct = bytesNow(data);
  if (direct) return direct;
  if (Array.isArray(data)) {
    const { Buffer } = builtin("node:buffer");
    return Buffer.concat(await Promise.all(data.map(toBytes)));
  }
  if (data instanceof ReadableStream) return readableStreamToBytes(data);
  if (typeof (data as Blob | Response)?.arrayBuffer === "function") {
    return new Uint8Array(await (data as Blob | Response).arrayBuffer());
  }
  throw new TypeError(
    `expected a string, bytes, a Blob, a Response or a stream, not ${describe(data)}`,
  );
}

/** The same for what needs no waiting. */
export function bytesNow(data: unknown): Uint8Array | undefined {
  if (typeof data === "string") return new TextEncoder().encode(data);
  if (data instanceof ArrayBuffer || data instanceof SharedArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data))
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  return undefined;
}

/** The bytes of what can be hashed. */
export function bytesToHash(data: unknown): Uint8Array {
  const found = bytesNow(data);
  if (!found) throw new TypeError(`expected a string or bytes to hash, not ${describe(data)}`);
  return found;
}

export function describe(value: unknown): string {
  return value === null || typeof value !== "object"
    ? String(value)
    : (value.constructor?.name ?? "an object");
}
