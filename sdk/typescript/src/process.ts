// haft's process: started, watched, and ended with the program.

import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";

import { Connection, type Duplex, type Handlers } from "./connection.js";
import { HaftError } from "./errors.js";

/** Characters of standard error that are kept for error messages. */
const TAIL = 4096;

/** Time for haft's process to end by itself after `shutdown`, in milliseconds. It needs at most two seconds. */
const END_TIMEOUT_MS = 5000;

/** Time to read the rest of the output after the process has ended, in milliseconds. */
const DRAIN_TIMEOUT_MS = 500;

/** Processes that are killed when the program exits. */
const running = new Set<ChildProcess>();
let isWatchingExit = false;

function killAtExit(child: ChildProcess): void {
  if (!isWatchingExit) {
    isWatchingExit = true;
    process.on("exit", () => {
      for (const child of running) child.kill();
    });
  }
  running.add(child);
}

export interface Spawned {
  program: string;
  args: string[];
  env: Record<string, string | undefined>;
  /** `rpc`: JSON-RPC on standard input and output. `serve`: on descriptor 3; the other streams are the program's. */
  mode: "rpc" | "mcp" | "serve";
  /** Receiver of the program's standard error. */
  stderr: "inherit" | "ignore" | ((text: string) => void);
}

/** A running haft process with its connection. */
export class HaftProcess {
  readonly connection: Connection;
  /** Resolves with the exit code, or the signal, when the process is gone. Never rejects. */
  readonly exited: Promise<{ code: number | null; signal: string | null }>;
  readonly #child: ChildProcess;
  readonly #mode: Spawned["mode"];
  #tail = "";
  #isEnding = false;

  constructor(spawned: Spawned, handlers: Handlers) {
    const { mode } = spawned;
    this.#mode = mode;
    const stderr = spawned.stderr === "inherit" ? "inherit" : "pipe";
    const stdio: StdioOptions =
      mode === "rpc"
        ? ["pipe", "pipe", stderr]
        : mode === "mcp"
          ? ["inherit", "inherit", stderr, "pipe"]
          : ["ignore", "inherit", stderr, "pipe"];
    const env = Object.fromEntries(
      Object.entries(spawned.env).filter(([, value]) => value !== undefined),
    );
    this.#child = spawn(spawned.program, spawned.args, { stdio, env, windowsHide: true });
    killAtExit(this.#child);
    this.connection = new Connection(streamsOf(this.#child, mode), handlers);
    this.#child.stderr?.on("data", (chunk) => {
      const text = String(chunk);
      this.#tail = (this.#tail + text).slice(-TAIL);
      if (typeof spawned.stderr === "function") spawned.stderr(text);
    });
    this.#child.stderr?.on("error", () => {});
    this.exited = this.#watch(spawned.program);
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Asks haft to end, waits for it, and kills it if it does not. */
  async end(): Promise<void> {
    this.#isEnding = true;
    const closed = new HaftError("closed", "haft was closed");
    // The end of the process answers, if haft does not.
    if (this.#mode === "rpc") this.connection.request("shutdown").catch(() => {});
    else this.#child.kill("SIGTERM");
    const release = this.connection.hold();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), END_TIMEOUT_MS);
    await this.exited;
    clearTimeout(timer);
    release();
    this.connection.fail(closed);
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  #watch(program: string): Promise<{ code: number | null; signal: string | null }> {
    const child = this.#child;
    return new Promise((resolve) => {
      const done = (error: HaftError, code: number | null, signal: string | null) => {
        running.delete(child);
        this.connection.fail(error);
        child.stderr?.destroy();
        resolve({ code, signal });
      };
      child.on("error", (error) => {
        // It is emitted for a failed `kill`, too.
        if (child.pid !== undefined) return;
        const text = `cannot start \`${program}\`: ${error.message}`;
        done(new HaftError("no-binary", text, undefined, error), null, null);
      });
      child.on("exit", (code, signal) => {
        // A process that haft left behind may hold the streams open.
        const timer = setTimeout(
          () => done(this.#endOf(code, signal), code, signal),
          DRAIN_TIMEOUT_MS,
        );
        child.on("close", () => {
          clearTimeout(timer);
          done(this.#endOf(code, signal), code, signal);
        });
      });
    });
  }

  #endOf(code: number | null, signal: string | null): HaftError {
    if (this.#isEnding) return new HaftError("closed", "haft was closed");
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    const tail = this.#tail.trim();
    const text = `haft ${this.#mode} ended ${how}${tail === "" ? "" : `:\n${tail}`}`;
    return new HaftError("ended", text);
  }
}

function streamsOf(child: ChildProcess, mode: Spawned["mode"]): Duplex {
  const socket = child.stdio[3] as any;
  const [input, output]: any[] = mode === "rpc" ? [child.stdout, child.stdin] : [socket, socket];
  return {
    input,
    output,
    keepAlive(on) {
      // A server's process keeps the program running until it ends.
      if (mode !== "rpc") return;
      for (const handle of [child, input, output, child.stderr] as any[]) {
        if (on) handle?.ref?.();
        else handle?.unref?.();
      }
    },
  };
}
