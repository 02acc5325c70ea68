// What `spawn` and `spawnSync` were given, checked and with every default filled in.

import { builtin } from "../builtin.ts";
import { BunFile } from "./file.ts";
import type { Subprocess } from "./spawn.ts";
import { describe } from "./streams.ts";
import { isNotPermitted, which } from "./which.ts";

type Stdio = "pipe" | "inherit" | "ignore" | null | undefined;
type Data = Blob | Response | Request | ReadableStream | ArrayBufferLike | ArrayBufferView;

export type Output = "pipe" | "ignore" | "inherit" | BunFile;
export type Input = "pipe" | "ignore" | Data;

export interface SpawnOptions {
  cmd?: string[];
  cwd?: string | URL;
  env?: Record<string, string | undefined>;
  argv0?: string;
  stdin?: Stdio | Data;
  stdout?: Stdio | BunFile;
  stderr?: Stdio | BunFile;
  stdio?: [SpawnOptions["stdin"]?, SpawnOptions["stdout"]?, SpawnOptions["stderr"]?];
  signal?: AbortSignal;
  timeout?: number;
  killSignal?: NodeJS.Signals | number;
  maxBuffer?: number;
  detached?: boolean;
  onExit?: (
    subprocess: Subprocess,
    exitCode: number | null,
    signalCode: string | null,
    error?: Error,
  ) => void;
}

/** A command that is ready to run. */
export interface Command {
  file: string;
  args: string[];
  argv0: string;
  cwd: string;
  env: Record<string, string | undefined>;
  stdin: Input;
  stdout: Output;
  stderr: Output;
  signal: AbortSignal | undefined;
  timeout: number | undefined;
  killSignal: NodeJS.Signals;
  maxBuffer: number | undefined;
  detached: boolean;
  onExit: SpawnOptions["onExit"];
}

/** Throws what Bun throws for commands that cannot run. */
export function prepare(command: string[] | SpawnOptions, given: SpawnOptions): Command {
  const options = Array.isArray(command) ? given : { ...given, ...command };
  const words = (Array.isArray(command) ? command : options.cmd)?.map(String);
  const [name, ...args] = words ?? [];
  if (name === undefined)
    throw failure(new TypeError("cmd must not be empty"), "ERR_INVALID_ARG_TYPE");

  const { env: own, cwd: here } = builtin("node:process");
  const env = options.env ?? own;
  const cwd = folder(options.cwd) ?? here();
  const { stdio = [] } = options;
  // Where the code may not look for a program, the start finds it, and says what is wrong with it.
  const file = ifPermitted(() => which(name, { PATH: env["PATH"], cwd }), name);
  if (!file) throw failure(new Error(`Executable not found in $PATH: "${name}"`), "ENOENT", name);
  const isFolder = () =>
    builtin("node:fs").statSync(cwd, { throwIfNoEntry: false })?.isDirectory() ?? false;
  if (!ifPermitted(isFolder, true)) {
    throw failure(
      new Error(`ENOENT: no such file or directory, posix_spawn '${name}'`),
      "ENOENT",
      name,
    );
  }
  return {
    file,
    args,
    argv0: options.argv0 ?? name,
    cwd,
    env,
    stdin: input(options.stdin ?? stdio[0]),
    stdout: output(options.stdout ?? stdio[1], "pipe"),
    stderr: output(options.stderr ?? stdio[2], "inherit"),
    signal: options.signal,
    timeout: options.timeout,
    killSignal: (options.killSignal ?? "SIGTERM") as NodeJS.Signals,
    maxBuffer: options.maxBuffer,
    detached: options.detached ?? false,
    onExit: options.onExit,
  };
}

function ifPermitted<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch (error) {
    if (isNotPermitted(error)) return otherwise;
    throw error;
  }
}

function folder(cwd: string | URL | undefined): string | undefined {
  return cwd instanceof URL ? builtin("node:url").fileURLToPath(cwd) : cwd;
}

function input(given: SpawnOptions["stdin"]): Input {
  if (given === undefined || given === null || given === "inherit" || given === "ignore")
    return "ignore";
  if (given === "pipe" || typeof given === "object") return given;
  throw new TypeError(
    `stdin must be "pipe", "ignore", bytes, a Blob, a Response or a stream, not ${describe(given)}`,
  );
}

function output(given: SpawnOptions["stdout"], fallback: Output): Output {
  if (given === undefined) return fallback;
  if (given === null) return "ignore";
  if (given === "pipe" || given === "ignore" || given === "inherit" || given instanceof BunFile)
    return given;
  throw new TypeError(
    `stdout and stderr must be "pipe", "ignore", "inherit" or a BunFile, not ${describe(given)}`,
  );
}

function failure(error: Error, code: string, path?: string): Error {
  return Object.assign(error, { code, ...(path === undefined ? {} : { path, errno: -2 }) });
}
