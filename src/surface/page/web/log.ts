// Call log: the calls that the server reports, newest first.

export type CallState = "running" | "done" | "failed" | "refused" | "stopped";

export interface CallEntry {
  id: string;
  tool: string;
  state: CallState;
  /** Milliseconds since 1970. */
  started: number;
  durationMs?: number;
}

/** Limit of the calls that the page shows. */
const MOST = 500;

/** Arguments of the calls from this page, because the server does not keep them. */
const given = new Map<string, string>();

/** Keeps the arguments of a call, as JSON text. */
export function keepArguments(id: string, text: string): void {
  given.set(id, text);
  for (const oldest of given.keys()) {
    if (given.size <= MOST) break;
    given.delete(oldest);
  }
}

export function argumentsOf(id: string): string | undefined {
  return given.get(id);
}

/** Returns the list with the call of an event; null if the event is not about a call. */
export function noteCall(calls: CallEntry[], event: string, data: string): CallEntry[] | null {
  if (event !== "call.started" && event !== "call.ended") return null;
  const entry = entryOf(JSON.parse(data));
  const rest = calls.filter((known) => known.id !== entry.id);
  return sorted([entry, ...rest]);
}

/** Converts the server's list of calls. */
export function entriesOf(list: unknown[]): CallEntry[] {
  return sorted(list.map(entryOf));
}

export function isRunning(entry: CallEntry): boolean {
  return entry.state === "running";
}

function sorted(calls: CallEntry[]): CallEntry[] {
  return calls.sort((one, other) => other.started - one.started).slice(0, MOST);
}

function entryOf(data: any): CallEntry {
  const entry: CallEntry = {
    id: String(data.callId),
    tool: String(data.tool),
    state: stateOf(data),
    started: Date.parse(data.startedAt) || Date.now(),
  };
  if (typeof data.durationMs === "number" && entry.state !== "running") {
    entry.durationMs = data.durationMs;
  }
  return entry;
}

function stateOf(data: any): CallState {
  if (data.state === undefined || data.state === "running") return "running";
  if (data.stopped) return "stopped";
  if (data.state === "failed") return "refused";
  return data.isError ? "failed" : "done";
}
