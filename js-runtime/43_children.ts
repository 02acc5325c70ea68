// Programs that tools start by themselves, with `node:child_process` and `Deno.Command`: Rust is told of
// each start, and of each `unref`.
//
// In Node and Bun a program that is detached and not waited for outlives the one that started it. Ours
// end with the host, however that ends; which of them may go on is decided by Rust.

import { core } from "ext:core/mod.js";
import { op_haft_release_program, op_haft_starts_program } from "ext:core/ops";
import { currentCall } from "ext:haft/00_state.ts";

interface Child {
  readonly pid: number;
  unref(): void;
}

type Start = (...args: unknown[]) => any;

const { apply } = Reflect;

/** Does the same as `start`, and tells of it first, with the name of the program. */
const told = (start: Start, nameOf: (first: unknown) => unknown): Start =>
  function (this: unknown, ...args) {
    op_haft_starts_program(currentCall.get()?.id ?? 0, `${nameOf(args[0])}`);
    return apply(start, this, args);
  };

const processes = core.loadExtScript("ext:deno_process/40_process.js");

// What `node:child_process` starts programs with; it takes the functions when it is first imported.
const spawnChild = told(processes.nodeSpawnChild, (command) => command);
processes.nodeSpawnChild = (...args: unknown[]): Child => {
  const child: Child = spawnChild(...args);
  const { unref } = child;
  child.unref = () => {
    unref();
    op_haft_release_program(child.pid);
  };
  return child;
};
processes.nodeSpawnSyncChild = told(
  processes.nodeSpawnSyncChild,
  (options) => (options as { args?: unknown[] })?.args?.[0],
);

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
