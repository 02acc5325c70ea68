// Call log: the calls that the server reports, newest first.

export type CallState = "running" | "done" | "failed" | "refused" | "stopped";

export interface CallEntry {
  id: string;
  tool: string;
  state: CallState;
  /** Milliseconds since 1970. */
  started: number;
  durationMs?: number;
  /** The id of the call that this one is a part of. */
  parentId?: string;
  caller: Caller;
  /** The other host that ran the call. */
  host?: string;
  /** The tenant in whose queue the call was put. */
  queue?: string;
  /** The id of the trace that the call is a part of. */
  traceId?: string;
  /** The arguments, if they are short. */
  arguments?: unknown;
}

export interface Caller {
  surface: string;
  client?: string;
  token?: string;
  program?: string;
}

/** Limit of the calls that the page shows. */
const MOST = 500;

/** Words for the states. */
export const STATES: { [State in CallState]: string } = {
  running: "running",
  done: "done",
  failed: "failed",
  refused: "not run",
  stopped: "stopped",
};

/** Returns the list with the call of an event; null if the event is not about a call. */
export function noteCall(calls: CallEntry[], event: string, data: string): CallEntry[] | null {
  if (!["call.started", "call.moved", "call.ended"].includes(event)) return null;
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

/** Returns the caller in a few words. */
export function callerName({ caller }: CallEntry): string {
  const { surface, client, token, program } = caller;
  return [surface, client ?? token ?? program].filter(Boolean).join(" ");
}

/** Returns the place of a call that did not stay on this machine, and its trace; empty without both. */
export function placeOf({ host, queue, traceId }: CallEntry): string {
  return [
    host && `on ${host}`,
    queue && `queue ${queue}`,
    traceId && `trace ${traceId.slice(0, 8)}`,
  ]
    .filter(Boolean)
    .join(" · ");
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
    caller: data.caller ?? { surface: "" },
  };
  if (typeof data.durationMs === "number" && entry.state !== "running") {
    entry.durationMs = data.durationMs;
  }
  for (const key of ["parentId", "host", "queue", "traceId"] as const) {
    if (typeof data[key] === "string") entry[key] = data[key];
  }
  if (data.arguments !== undefined) entry.arguments = data.arguments;
  return entry;
}

function stateOf(data: any): CallState {
  if (data.state === undefined || data.state === "running") return "running";
  if (data.stopped) return "stopped";
  if (data.state === "failed") return "refused";
  return data.isError ? "failed" : "done";
}
