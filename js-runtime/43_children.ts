// Programs that tools start by themselves, with `node:child_process` and `Deno.Command`: Rust is told of
// each start, and of each `unref`.
//
// In Node and Bun a program that is detached and not waited for outlives the one that started it. Ours
// end with the host, however that ends; which of them may go on is decided by Rust.

import { core } from "ext:core/mod.js";
import { op_haft_release_program, op_haft_shown_env, op_haft_starts_program } from "ext:core/ops";
import { captured, currentCall } from "ext:haft/00_state.ts";

interface Child {
  readonly pid: number;
  unref(): void;
}

type Start = (...args: unknown[]) => any;

const { apply, construct } = Reflect;

interface Environment {
  env?: Record<string, string>;
  clearEnv?: boolean;
}

/** A program inherits the variables that are shown to the code which starts it, and what that adds. */
function shown<T extends Environment | undefined>(options: T): T {
  const inherited = op_haft_shown_env();
  if (inherited === "" || options?.clearEnv) return options;
  const env = { __proto__: null, ...captured.jsonParse(inherited), ...options?.env };
  return { ...options, env, clearEnv: true } as T;
}

/** Does the same as `start`, and tells of it first, with the name of the program. */
const told = (start: Start, nameOf: (first: unknown) => unknown): Start =>
  function (this: unknown, ...args) {
    op_haft_starts_program(currentCall.get()?.id ?? 0, `${nameOf(args[0])}`);
    return apply(start, this, args);
  };

const processes = core.loadExtScript("ext:deno_process/40_process.js");

// What `node:child_process` starts programs with; it takes the functions when it is first imported.
const spawnChild = told(processes.nodeSpawnChild, (command) => command);
processes.nodeSpawnChild = (command: unknown, options: Environment): Child => {
  const child: Child = spawnChild(command, shown(options));
  const { unref } = child;
  child.unref = () => {
    unref();
    op_haft_release_program(child.pid);
  };
  return child;
};
const spawnSyncChild = told(
  processes.nodeSpawnSyncChild,
  (options) => (options as { args?: unknown[] })?.args?.[0],
);
processes.nodeSpawnSyncChild = (options: Environment) => spawnSyncChild(shown(options));

for (const method of ["spawn", "output", "outputSync"]) {
  const { prototype } = processes.Command;
  // The command is a private field of it.
  prototype[method] = told(prototype[method], () => "Deno.Command");
}
const { prototype } = processes.ChildProcess;
const { unref } = prototype;
prototype.unref = function (this: Child): void {
  apply(unref, this, []);
  op_haft_release_program(this.pid);
};

// `Deno.Command` itself would inherit everything, so nothing leads to it.
const { Command } = processes;
const BoundedCommand = function Command_(command: unknown, options?: Environment) {
  if (new.target === undefined) throw new TypeError("Deno.Command is made with `new`");
  return construct(Command, [command, shown(options)], new.target);
};
captured.defineProperty(BoundedCommand, "name", { value: "Command" });
captured.defineProperty(BoundedCommand, "prototype", { value: Command.prototype, writable: false });
captured.defineProperty(Command.prototype, "constructor", { value: BoundedCommand });
processes.Command = BoundedCommand;

for (const name of ["spawn", "spawnAndWait", "spawnAndWaitSync"]) {
  const start = told(processes[name], (command) => command);
  processes[name] = (command: unknown, args?: unknown, options?: Environment) =>
    captured.isArray(args)
      ? start(command, args, shown(options))
      : start(command, shown(args as Environment | undefined));
}
const run = told(processes.run, (options) => (options as { cmd?: unknown[] })?.cmd?.[0]);
processes.run = (options: Environment) => run(shown(options));
