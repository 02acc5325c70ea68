// `Bun.spawn` and `Bun.spawnSync` over `node:child_process`.
//
// "inherit" does not mean the host's own streams here, which carry its protocol: output goes to the
// tool's log, and stdin is empty. Not covered: IPC, terminals, numeric file descriptors, and
// `maxBuffer` outside of `spawnSync`.

import type { ChildProcess } from "node:child_process";

import { builtin } from "../builtin.ts";
import { BunFile } from "./file.ts";
import { FileSink } from "./sink.ts";
import {
  type Command,
  type Input,
  type Output,
  prepare,
  type SpawnOptions,
} from "./spawn-options.ts";
import { bytesNow, type OutputStream, toBytes, webStream } from "./streams.ts";

/** A running program. */
export class Subprocess {
  readonly pid: number;
  readonly stdin: FileSink | undefined;
  readonly stdout: OutputStream | undefined;
  readonly stderr: OutputStream | undefined;
  /** The exit code when it has ended; 128 and the signal's number where a signal ended it. */
  readonly exited: Promise<number>;
  exitCode: number | null = null;
  signalCode: string | null = null;

  readonly #child: ChildProcess;

  constructor(child: ChildProcess, options: Command) {
    this.#child = child;
    this.pid = child.pid as number;
    const files: Promise<void>[] = [];
    this.stdout = connect(child.stdout, options.stdout, "log", files);
    this.stderr = connect(child.stderr, options.stderr, "error", files);
    this.exited = this.#end(options, files);
    this.stdin = feed(child, options.stdin);
    stopWhenAsked(this, options);
  }

  get killed(): boolean {
    return this.exitCode !== null || this.signalCode !== null;
  }

  get readable(): OutputStream | undefined {
    return this.stdout;
  }

  kill(signal?: number | NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  ref(): void {
    this.#child.ref();
  }

  unref(): void {
    this.#child.unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill();
    await this.exited;
  }

  async #end(options: Command, files: Promise<void>[]): Promise<number> {
    const error = await new Promise<Error | undefined>((done) => {
      this.#child.once("error", done);
      this.#child.once("exit", (code, signal) => {
        this.exitCode = code;
        this.signalCode = signal;
        done(undefined);
      });
    });
    await Promise.all(files);
    options.onExit?.(this, this.exitCode, this.signalCode, error);
    if (error && !this.killed) throw error;
    return this.exitCode ?? 128 + signalNumber(this.signalCode);
  }
}

/** Starts a program. A program that is not there is an error at once, not later. */
export function spawn(command: string[] | SpawnOptions, options: SpawnOptions = {}): Subprocess {
  const ready = prepare(command, options);
  const child = builtin("node:child_process").spawn(ready.file, ready.args, {
    cwd: ready.cwd,
    env: ready.env,
    argv0: ready.argv0,
    detached: ready.detached,
    stdio: [
      ready.stdin === "ignore" ? "ignore" : "pipe",
      pipeOf(ready.stdout),
      pipeOf(ready.stderr),
    ],
  });
  return new Subprocess(child, ready);
}

/** Runs a program to its end, blocking the isolate. */
export function spawnSync(command: string[] | SpawnOptions, options: SpawnOptions = {}) {
  const ready = prepare(command, { stderr: "pipe", ...options });
  const done = builtin("node:child_process").spawnSync(ready.file, ready.args, {
    cwd: ready.cwd,
    env: ready.env,
    argv0: ready.argv0,
    timeout: ready.timeout,
    killSignal: ready.killSignal,
    maxBuffer: ready.maxBuffer ?? Number.POSITIVE_INFINITY,
    input: inputNow(ready.stdin),
    stdio: ["pipe", pipeOf(ready.stdout), pipeOf(ready.stderr)],
  });
  const error = done.error as NodeJS.ErrnoException | undefined;
  if (error && error.code !== "ETIMEDOUT" && error.code !== "ENOBUFS") throw error;
  const stdout = keep(ready.stdout, done.stdout, "log");
  const stderr = keep(ready.stderr, done.stderr, "error");
  return {
    exitCode: done.signal ? null : done.status,
    ...(done.signal ? { signalCode: done.signal } : {}),
    stdout,
    stderr,
    success: done.status === 0,
    ...(error?.code === "ETIMEDOUT" ? { exitedDueToTimeout: true } : {}),
    ...(error?.code === "ENOBUFS" ? { exitedDueToMaxBuffer: true } : {}),
    pid: done.pid,
  };
}

function pipeOf(output: Output): "pipe" | "ignore" {
  return output === "ignore" ? "ignore" : "pipe";
}

function connect(
  source: NodeJS.ReadableStream | null,
  output: Output,
  level: "log" | "error",
  files: Promise<void>[],
): OutputStream | undefined {
  if (!source) return undefined;
  if (output === "pipe") return webStream(source);
  if (output instanceof BunFile) {
    const target = builtin("node:fs").createWriteStream(output.name);
    files.push(
      new Promise((done, fail) => {
        target.once("finish", done).once("error", fail);
        source.pipe(target);
      }),
    );
  } else {
    source.setEncoding("utf8");
    source.on("data", (text: string) => console[level](text.replace(/\n$/, "")));
  }
  return undefined;
}

/** Connects the program's input. It may close its end early; the broken pipe is not an error. */
function feed(child: ChildProcess, input: Input): FileSink | undefined {
  const stdin = child.stdin;
  if (!stdin) return undefined;
  const sink = FileSink.toProcess(stdin);
  if (input === "pipe") return sink;
  toBytes(input).then(
    (bytes) => stdin.end(bytes),
    (error) => child.kill() && stdin.destroy(error),
  );
  return undefined;
}

function stopWhenAsked(subprocess: Subprocess, { signal, timeout, killSignal }: Command): void {
  const stop = () => subprocess.kill(killSignal);
  const timer = timeout ? setTimeout(stop, timeout) : undefined;
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });
  const forget = () => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  };
  subprocess.exited.then(forget, forget);
}

function inputNow(input: Input): Uint8Array {
  if (input === "ignore" || input === "pipe") return new Uint8Array();
  if (input instanceof BunFile) return builtin("node:fs").readFileSync(input.name);
  const bytes = bytesNow(input);
  if (!bytes) throw new TypeError("spawnSync takes bytes or a BunFile as stdin; others need spawn");
  return bytes;
}

function keep(
  output: Output,
  bytes: Uint8Array | null,
  level: "log" | "error",
): Uint8Array | undefined {
  if (output === "pipe") return bytes ?? builtin("node:buffer").Buffer.alloc(0);
  if (output instanceof BunFile) builtin("node:fs").writeFileSync(output.name, bytes ?? "");
  else if (output === "inherit" && bytes?.length) console[level](String(bytes).replace(/\n$/, ""));
  return undefined;
}

function signalNumber(signal: string | null): number {
  const numbers: Record<string, number> = builtin("node:os").constants.signals;
  return (signal && numbers[signal]) || 0;
}
