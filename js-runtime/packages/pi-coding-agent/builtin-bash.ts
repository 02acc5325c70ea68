// pi's own tool for commands, which extensions take to change or to draw.

import { Type } from "@sinclair/typebox";

import { builtin } from "../builtin.ts";
import { type BuiltinTool, textResult } from "./builtin-files.ts";
import { truncateTail } from "./truncate.ts";

interface ExecOptions {
  onData(data: Uint8Array): void;
  signal?: AbortSignal | undefined;
  timeout?: number | undefined;
  env?: Record<string, string | undefined> | undefined;
}

/** Functions that run a command; an extension can put another machine in their place. */
export interface BashOperations {
  exec(command: string, cwd: string, options: ExecOptions): Promise<{ exitCode: number | null }>;
}

interface SpawnContext {
  command: string;
  cwd: string;
  env: Record<string, string | undefined>;
}

interface BashOptions {
  operations?: BashOperations;
  commandPrefix?: string;
  shellPath?: string;
  spawnHook?: (context: SpawnContext) => SpawnContext;
}

/** Runs commands on this machine, in a process group that ends with the call. */
export function createLocalBashOperations({ shellPath = "bash" } = {}): BashOperations {
  return {
    exec(command, cwd, { onData, signal, timeout, env }) {
      const { spawn } = builtin("node:child_process");
      return new Promise((resolve, reject) => {
        const child = spawn(shellPath, ["-c", command], {
          cwd,
          detached: true,
          env: env ?? builtin("node:process").env,
          stdio: ["ignore", "pipe", "pipe"],
        });
        let timedOut = false;
        const kill = () => {
          try {
            if (child.pid !== undefined) builtin("node:process").kill(-child.pid, "SIGKILL");
          } catch {
            child.kill("SIGKILL");
          }
        };
        const timer = timeout
          ? setTimeout(() => {
              timedOut = true;
              kill();
            }, timeout * 1000)
          : undefined;
        signal?.addEventListener("abort", kill, { once: true });
        if (signal?.aborted) kill();
        const settle = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", kill);
        };
        child.stdout?.on("data", onData);
        child.stderr?.on("data", onData);
        child.on("error", (error) => {
          settle();
          reject(error);
        });
        child.on("close", (exitCode) => {
          settle();
          if (signal?.aborted) reject(new Error("aborted"));
          else if (timedOut) reject(new Error(`timeout:${timeout}`));
          else resolve({ exitCode });
        });
      });
    },
  };
}

export function createBashTool(cwd: string, options: BashOptions = {}): BuiltinTool {
  const { commandPrefix, spawnHook, shellPath } = options;
  const operations =
    options.operations ?? createLocalBashOperations(shellPath === undefined ? {} : { shellPath });
  return {
    name: "bash",
    label: "bash",
    description: "Runs a command in bash and returns both of its outputs, of a long one the end.",
    parameters: Type.Object({
      command: Type.String({ description: "The command" }),
      timeout: Type.Optional(Type.Number({ description: "Most seconds; no limit without it" })),
    }),
    async execute(_id, { command, timeout }, signal, onUpdate) {
      const prefixed = commandPrefix ? `${commandPrefix}\n${command}` : command;
      const plain = { command: prefixed, cwd, env: { ...builtin("node:process").env } };
      const spawned = spawnHook?.(plain) ?? plain;
      const decoder = new TextDecoder();
      let output = "";
      const onData = (data: Uint8Array) => {
        output += decoder.decode(data, { stream: true });
        onUpdate?.(shown(output));
      };
      const failed = (reason: string) => new Error(joined(truncateTail(output).content, reason));
      let exitCode: number | null;
      try {
        const running = { onData, signal, timeout, env: spawned.env };
        ({ exitCode } = await operations.exec(spawned.command, spawned.cwd, running));
      } catch (error) {
        const { message } = error as Error;
        if (message === "aborted") throw failed("Command aborted");
        if (!message.startsWith("timeout:")) throw error;
        throw failed(`Command timed out after ${message.slice("timeout:".length)} seconds`);
      }
      if (exitCode !== 0) throw failed(`Command exited with code ${exitCode}`);
      return output === "" ? textResult("(no output)") : shown(output);
    },
  };
}

function shown(output: string) {
  const truncation = truncateTail(output);
  return textResult(truncation.content, truncation.truncated ? { truncation } : undefined);
}

const joined = (output: string, reason: string): string =>
  output === "" ? reason : `${output}\n\n${reason}`;
