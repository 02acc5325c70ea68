// Client of the server's API: typed responses, one error class, the token.

import { events, type ServerEvent } from "./sse.ts";

export interface Tool {
  name: string;
  label?: string;
  description: string;
  family?: string;
  provider?: string;
  providerName?: string;
  level?: string;
  path?: string;
  inputSchema: unknown;
  approval?: string;
  tags?: string[];
  hidden?: boolean;
  trusted?: boolean;
  rights?: Rights;
}

/** What a tool may access, and what enforces it. */
export interface Rights {
  profile: string;
  isolation: string;
  layers?: string;
  notEnforced: string[];
  permissions: { [kind: string]: string };
  source: string;
}

export interface Problem {
  severity: "info" | "warning" | "error";
  message: string;
  path?: string;
  line?: number;
  column?: number;
  toolName?: string;
  hint?: string;
  file?: string;
  /** The source lines around the place. */
  frame?: string;
}

export interface Catalog {
  tools: Tool[];
  problems: Problem[];
}

export type Block =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string }
  | { type: "audio"; data: string; mimeType: string }
  | { type: "resource"; resource: { uri: string; mimeType?: string; text?: string; blob?: string } }
  | { type: "resource_link"; uri: string; name: string; title?: string; description?: string };

/** Result of a call, partial or complete. */
export interface CallResult {
  content?: Block[];
  details?: unknown;
  isError?: boolean;
  durationMs?: number;
  stopped?: string;
}

/** Error response of the server (RFC 9457). */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly hint: string | undefined,
    readonly kind: string | undefined,
  ) {
    super(message);
  }
}

const TOKEN = "haft-token";

/** Returns true if the page sends a token. */
export function hasToken(): boolean {
  return sessionStorage.getItem(TOKEN) !== null;
}

/** Opens the token dialog when the server requires a token. */
let askForToken: (() => void) | null = null;

export function whenTokenIsWanted(ask: () => void): void {
  askForToken = ask;
}

export function rememberToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

/** Sends a request and returns the response. An error response is thrown as a `Refusal`. */
export async function request(
  method: string,
  path: string,
  options: { body?: string; accept?: string; signal?: AbortSignal } = {},
): Promise<Response> {
  const headers = new Headers({ accept: options.accept ?? "application/json" });
  if (options.body !== undefined) headers.set("content-type", "application/json");
  const token = sessionStorage.getItem(TOKEN);
  if (token !== null) headers.set("authorization", `Bearer ${token}`);
  const response = await fetch(path, {
    method,
    headers,
    body: options.body ?? null,
    signal: options.signal ?? null,
    cache: "no-store",
  });
  if (response.ok) return response;
  const refusal = await refusalOf(response);
  if (refusal.status === 401) askForToken?.();
  throw refusal;
}

export async function json<T>(method: string, path: string, body?: string): Promise<T> {
  const response = await request(method, path, body === undefined ? {} : { body });
  return (await response.json()) as T;
}

/** Sends a request and returns the events of its response stream. */
export async function stream(
  method: string,
  path: string,
  signal: AbortSignal,
  body?: string,
): Promise<AsyncGenerator<ServerEvent>> {
  const accept = "text/event-stream";
  const options = body === undefined ? { accept, signal } : { accept, signal, body };
  const response = await request(method, path, options);
  return events(response.body ?? new ReadableStream());
}

/** Converts a JSON error to a `Refusal`, with a generic message if it has none. */
export function refusalFrom(value: unknown, status = 0): Refusal {
  const details = typeof value === "object" && value !== null ? (value as any) : {};
  const message = details.detail ?? details.message ?? details.error ?? details.title;
  return new Refusal(
    details.status ?? status,
    typeof message === "string" ? message : `the server answered with status ${status}`,
    typeof details.hint === "string" ? details.hint : undefined,
    typeof details.kind === "string" ? details.kind : undefined,
  );
}

async function refusalOf(response: Response): Promise<Refusal> {
  const text = await response.text();
  try {
    return refusalFrom(JSON.parse(text), response.status);
  } catch {
    return refusalFrom({ detail: text.slice(0, 500) || undefined }, response.status);
  }
}
