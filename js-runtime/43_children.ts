// Programs that tools start with `node:child_process` and `Deno.Command`: Rust is notified of
// each start, and of each `unref`.
//
// In Node and Bun a detached program that is not waited for outlives its parent. In haft such programs
// end with the host, however that ends; Rust decides which of them may go on.

import { core } from "ext:core/mod.js";
import {
  op_haft_check_program,
  op_haft_release_program,
  op_haft_shown_env,
  op_haft_starts_program,
} from "ext:core/ops";
import { captured, currentCall } from "ext:haft/00_state.ts";

interface Child {
  readonly pid: number;
  unref(): void;
}

type Start = (...args: unknown[]) => any;

const processes = core.loadExtScript("ext:deno_process/40_process.js");

const { apply, construct, defineProperty, ownKeys } = Reflect;
const { isArray } = Array;

/** The standard streams that a child gets for the numbers 0, 1 and 2: those of a worker are haft's. */
const OWN_STREAMS = ["null", "inherit", "inherit"];

/** One standard stream of a child. */
const stream = (value: unknown): unknown =>
  typeof value === "number" ? (OWN_STREAMS[value] ?? value) : value;

/** The options that hold streams, and those that hold lists of them. */
const STREAMS = ["stdin", "stdout", "stderr"];
const LISTS = ["extraStdio", processes.kExtraStdio];

/**
 * A copy of the options of a start with streams of its own, and of the process's variables only those that may
 * be seen. Each option is read once: a getter could answer otherwise the second time. Nothing here uses a method
 * that a tool can replace.
 */
function checked(options: any = {}): any {
  if (typeof options !== "object" || options === null || isArray(options)) return options;
  const copy: any = { __proto__: null };
  const keys = ownKeys(options);
  for (let at = 0; at < keys.length; at++) copy[keys[at] as string] = options[keys[at] as string];
  for (let at = 0; at < STREAMS.length; at++) {
    const name = STREAMS[at] as string;
    if (name in copy) copy[name] = stream(copy[name]);
  }
  for (let at = 0; at < LISTS.length; at++) {
    const list = copy[LISTS[at]];
    if (list !== undefined && list !== null) copy[LISTS[at]] = streams(list);
  }
  const inherited = op_haft_shown_env();
  if (inherited !== "" && !copy.clearEnv) {
    copy.env = { __proto__: null, ...captured.jsonParse(inherited), ...copy.env };
    copy.clearEnv = true;
  }
  return copy;
}

/** The checked options of a start, which is refused if the permissions deny its program. */
function admitted(options: unknown, programOf: (copy: any) => unknown): any {
  const copy = checked(options);
  if (copy?.env) copy.env = { __proto__: null, ...copy.env };
  op_haft_check_program(`${programOf(copy)}`, `${copy?.cwd ?? ""}`, `${copy?.env?.PATH ?? ""}`);
  return copy;
}

function streams(list: ArrayLike<unknown>): unknown[] {
  const checked: unknown[] = [];
  const { length } = list;
  for (let at = 0; at < length; at++) {
    const value = stream(list[at]);
    defineProperty(checked, at, { __proto__: null, value, enumerable: true } as PropertyDescriptor);
  }
  return checked;
}

/** Does the same as `start`, and reports it to Rust first, with the name of the program. */
const told = (start: Start, nameOf: (first: unknown) => unknown): Start =>
  function (this: unknown, ...args) {
    op_haft_starts_program(currentCall.get()?.id ?? 0, `${nameOf(args[0])}`);
    return apply(start, this, args);
  };

// What `node:child_process` starts programs with; it takes the functions when it is first imported.
const spawnChild = told(processes.nodeSpawnChild, (command) => command);
processes.nodeSpawnChild = (command: unknown, options: unknown): Child => {
  const child: Child = spawnChild(
    command,
    admitted(options, () => command),
  );
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
processes.nodeSpawnSyncChild = (options: unknown) =>
  spawnSyncChild(admitted(options, ({ args }) => args?.[0]));

for (const method of ["spawn", "output", "outputSync"]) {
  const { prototype } = processes.Command;
  // The command is a private field of it.
  prototype[method] = told(prototype[method], () => "Deno.Command");
}
const Original = processes.Command;
function Command(this: unknown, command: unknown, options?: unknown) {
  const copy = admitted(options, () => command);
  return construct(Original, [command, copy], new.target ?? Command);
}
Command.prototype = Original.prototype;
Command.prototype.constructor = Command;
processes.Command = Command;
const inOrder = (start: Start): Start => {
  const starts = told(start, (command) => command);
  return (command, first, second) =>
    isArray(first)
      ? starts(
          command,
          first,
          admitted(second, () => command),
        )
      : starts(
          command,
          admitted(first, () => command),
        );
};
for (const name of ["spawn", "spawnAndWait", "spawnAndWaitSync"]) {
  processes[name] = inOrder(processes[name]);
}
const run = told(processes.run, (options) => (options as { cmd?: unknown[] })?.cmd?.[0]);
processes.run = (options: unknown) => run(admitted(options, ({ cmd }) => cmd?.[0]));
const { prototype } = processes.ChildProcess;
const { unref } = prototype;
prototype.unref = function (this: Child): void {
  apply(unref, this, []);
  op_haft_release_program(this.pid);
};
