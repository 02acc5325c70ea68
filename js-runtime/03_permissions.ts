// What the runtime's permissions say and do beyond Deno: refusals in haft's words, and children that
// see no more variables than the code that starts them.
//
// This file comes before all that loads Deno's own scripts: those take the ops when they are loaded.

import { core } from "ext:core/mod.js";
import { op_haft_shown_env } from "ext:core/ops";
import { settings } from "ext:haft/00_state.ts";

const { setPrototypeOf, fromEntries, entries } = Object;
const { parse } = JSON;
const { NotCapable, ops } = core;

const REQUIRES = /^Requires (\w+) access(?: to ([\s\S]+))?, run again with the --allow-\w+ flag$/;
const LOADER = /^Requires --allow-run permissions to spawn subprocess with ([\s\S]+?) environment/;

/** The text of a refusal in haft's words; another text stays as it is. No op may be called here. */
function explained(text: string): string {
  const [, variables] = LOADER.exec(text) ?? [];
  if (variables !== undefined) return refusal("run", `a program with ${variables}`) ?? text;
  const [, kind, what = ""] = REQUIRES.exec(text) ?? [];
  return (kind === undefined ? undefined : refusal(kind, what.replace(/^"|"$/g, ""))) ?? text;
}

function refusal(kind: string, what: string): string | undefined {
  const texts = settings.refusals[kind];
  return what === "" ? texts?.any : texts?.to.split("\0").join(what);
}

// The class calls what is its prototype at that time, so this stands between it and `Error`.
setPrototypeOf(
  NotCapable,
  class extends Error {
    constructor(message: unknown, options?: ErrorOptions) {
      super(explained(`${message}`), options);
    }
  },
);

interface Started {
  env: [string, string][];
  clearEnv: boolean;
}

type Start = (args: Started, ...rest: unknown[]) => unknown;

// A program inherits what is shown to the code that starts it, and what that code adds.
function shown(args: Started): Started {
  const inherited = op_haft_shown_env();
  if (inherited === "" || args.clearEnv) return args;
  const env = { __proto__: null, ...parse(inherited), ...fromEntries(args.env) };
  return { ...args, env: entries(env) as [string, string][], clearEnv: true };
}

const STARTS = ["op_spawn_child", "op_node_spawn_child", "op_spawn_sync", "op_run"];

const originals = STARTS.map((name) => [name, ops[name]] as [string, Start]);
for (const [name, start] of originals) {
  ops[name] = (args: Started, ...rest: unknown[]) => start(shown(args), ...rest);
}
core.loadExtScript("ext:deno_process/40_process.js");
for (const [name, start] of originals) ops[name] = start;
