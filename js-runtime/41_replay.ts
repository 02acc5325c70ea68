// `fetch` on tape: in tests of tools the network is asked only where the tape says so. And `fetch` of recorded
// calls, whose answers become such a tape.
//
// A request and its answer are taken whole, so what is recorded is what a tool would have read to
// the end. Twin of `crates/engine/src/extension/ops_replay.rs`; what is on the tape is Rust's business.

import { op_haft_record, op_haft_replay_keep, op_haft_replay_play } from "ext:core/ops";
import { Channel, captured, currentCall } from "ext:haft/00_state.ts";
import { type Fetch, replaceFetch } from "ext:haft/42_fetch.ts";

interface Body {
  body?: string;
  /** Used if the bytes are not text. */
  bodyBase64?: string;
}

interface TapedResponse extends Body {
  status: number;
  statusText?: string;
  headers?: [string, string][];
  url?: string;
}

type Played =
  | { refused: string }
  | { error: { name?: string; message: string } }
  | { response: TapedResponse };

/** Puts the tape between tools and the network; called once when the isolate starts. */
export function installTape(): void {
  const live = globalThis.fetch;
  replaceFetch(async (input, init) => {
    const request = new Request(input, init);
    request.signal.throwIfAborted();
    const asked = await asText(request);
    const played = op_haft_replay_play(asked);
    if (played !== "") return answer(captured.jsonParse(played));
    return await recorded(live, request, (answered) => op_haft_replay_keep(asked, answered));
  });
}

/** Records the requests of calls that are recorded; called once when the isolate starts. */
export function installRecorder(): void {
  const live = globalThis.fetch;
  replaceFetch((input, init) => {
    const call = currentCall.get();
    if (!call?.isRecorded) return live(input, init);
    return (async () => {
      const request = new Request(input, init);
      request.signal.throwIfAborted();
      const asked = await asText(request);
      const keep = (answered: string) => op_haft_record(call.id, Channel.Fetch, asked, answered);
      return await recorded(live, request, keep);
    })();
  });
}

/** The request as JSON text, which Rust and recordings have. */
async function asText(request: Request): Promise<string> {
  return captured.jsonStringify({
    method: request.method,
    url: request.url,
    headers: Object.fromEntries(request.headers),
    ...bodyOf(new Uint8Array(await request.clone().arrayBuffer())),
  });
}

/** Sends a request to the network. `keep` gets the answer as JSON text, before the tool has it. */
async function recorded(
  live: Fetch,
  request: Request,
  keep: (answered: string) => void,
): Promise<Response> {
  let response: Response;
  try {
    response = await live(request);
  } catch (error) {
    const { name, message } = error as Error;
    keep(captured.jsonStringify({ error: { name, message } }));
    throw error;
  }
  const bytes = new Uint8Array(await response.clone().arrayBuffer());
  const { status, statusText, url } = response;
  const kept = { status, statusText, url, headers: [...response.headers], ...bodyOf(bytes) };
  keep(captured.jsonStringify({ response: kept }));
  return response;
}

function answer(played: Played): Response {
  if ("refused" in played) throw new TypeError(played.refused);
  if ("error" in played) {
    const error = new TypeError(played.error.message);
    if (played.error.name) error.name = played.error.name;
    throw error;
  }
  const { status, statusText, headers, url } = played.response;
  const has = status !== 101 && status !== 204 && status !== 205 && status !== 304;
  const body = has ? bytesOf(played.response) : null;
  const about = { status, statusText: statusText ?? "", headers: headers ?? [] };
  const response = new Response(body, about);
  captured.defineProperty(response, "url", { value: url ?? "" });
  return response;
}

function bodyOf(bytes: Uint8Array): Body {
  if (bytes.length === 0) return {};
  try {
    return { body: new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    let letters = "";
    for (const byte of bytes) letters += String.fromCharCode(byte);
    return { bodyBase64: btoa(letters) };
  }
}

function bytesOf({ body, bodyBase64 }: Body): Uint8Array<ArrayBuffer> {
  if (bodyBase64 === undefined) return new TextEncoder().encode(body ?? "");
  return Uint8Array.from(atob(bodyBase64), (letter) => letter.charCodeAt(0));
}
