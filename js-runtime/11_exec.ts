// `pi.exec`: run a program, get its output (spec omp 5.1 with decision 4 of "what we decide").
//
// Checking and defaults are here; starting and stopping is Rust's. A pre-aborted signal starts
// nothing, and a timeout or an abort gives `killed: true` with a code that is not zero.

import { core } from "ext:core/mod.js";
import {
  op_haft_env_changes,
  op_haft_exec,
  op_haft_exec_abort,
  op_haft_record,
} from "ext:core/ops";
import { Channel, captured, currentCall, settings } from "ext:haft/00_state.ts";

export interface ExecOptions {
  signal?: AbortSignal;
  /** Milliseconds; zero or less means none. */
  timeout?: number;
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** Text for the program's standard input; empty without it. */
  input?: string | Uint8Array;
  stdin?: string | Uint8Array;
}

export interface ExecResult {
  stdout: string;
  stderr: string;
  code: number;
  killed: boolean;
}

interface ExecAnswer extends ExecResult {
  error?: { code: string; message: string; type?: boolean };
}

let nextExecId = 1;

export async function exec(
  command: string,
  args: readonly unknown[] = [],
  options: ExecOptions = {},
): Promise<ExecResult> {
  const signal = options?.signal ?? undefined;
  if (signal !== undefined && typeof signal.addEventListener !== "function") {
    throw new TypeError("exec: options.signal must be an AbortSignal");
  }
  if (signal?.aborted) {
    return withAlias({ stdout: "", stderr: "", code: ABORTED, killed: true });
  }
  const id = nextExecId++;
  const stop = () => op_haft_exec_abort(id);
  signal?.addEventListener("abort", stop, { once: true });
  try {
    const request = captured.jsonStringify(makeRequest(command, args, options ?? {}));
    const call = currentCall.get();
    const answered = await op_haft_exec(id, call?.id ?? 0, request);
    if (call?.isRecorded) op_haft_record(call.id, Channel.Exec, request, answered);
    const answer = captured.jsonParse(answered) as ExecAnswer;
    if (answer.error) throw execError(answer.error);
    return withAlias(answer);
  } finally {
    signal?.removeEventListener("abort", stop);
  }
}

const ABORTED = 130;

function makeRequest(command: string, args: readonly unknown[], options: ExecOptions) {
  const input = options.input ?? options.stdin;
  return {
    command: `${command}`,
    args: Array.from(args ?? [], (arg) => `${arg}`),
    cwd: options.cwd ?? settings.cwd,
    timeoutMs: typeof options.timeout === "number" && options.timeout > 0 ? options.timeout : null,
    env: environmentOf(options),
    input: typeof input === "string" ? input : null,
    inputBytes: input instanceof Uint8Array ? Array.from(input) : null,
  };
}

// The program sees what the tools of this isolate changed in `process.env`; the host does not. Its spans
// are parts of the call's.
function environmentOf({ env }: ExecOptions): Record<string, string | null> | null {
  const changes = op_haft_env_changes();
  const span = currentCall.get()?.span;
  if (changes === "" && span === undefined) return env ? stringEnvironment(env) : null;
  return {
    ...(span === undefined ? {} : { TRACEPARENT: span }),
    ...(changes === "" ? {} : captured.jsonParse(changes)),
    ...(env ? stringEnvironment(env) : {}),
  };
}

// `undefined` takes a variable away, as in Node.
function stringEnvironment(env: Record<string, unknown>): Record<string, string | null> {
  const result: Record<string, string | null> = {};
  for (const key of captured.keys(env)) {
    const value = env[key];
    result[key] = value === undefined || value === null ? null : `${value}`;
  }
  return result;
}

function execError(error: { code: string; message: string; type?: boolean }): Error {
  if (error.code === "NotCapable") return new core.NotCapable(error.message);
  const made = error.type ? new TypeError(error.message) : new Error(error.message);
  return Object.assign(made, { code: error.code });
}

// Programs of Windows put a byte order mark in front, which no parser takes; Bun's decoder drops it, too.
function withoutMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}

// `exitCode` never existed, but published tools read it (spec omp-usage 10.6). It stays out of
// enumeration because the original has exactly four keys.
function withAlias(result: ExecResult): ExecResult {
  const { stdout, stderr, code, killed } = result;
  const answer = { stdout: withoutMark(stdout), stderr: withoutMark(stderr), code, killed };
  captured.defineProperty(answer, "exitCode", { value: code, enumerable: false });
  return answer;
}
