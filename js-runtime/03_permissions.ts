// Refusals of the runtime's permissions in haft's words; twin of `crates/engine/src/refusal.rs`.

import { core } from "ext:core/mod.js";
import { currentCall, settings } from "ext:haft/00_state.ts";

const { NotCapable } = core;

const REQUIRES = /^Requires (\w+) access(?: to ([\s\S]+))?, run again with the --allow-\w+ flag$/;
const LOADER = /^Requires --allow-run permissions to spawn subprocess with ([\s\S]+?) environment/;

const LINK = /^(\S+) requires unscoped --allow-read and --allow-write/;

/** The text of a refusal in haft's words; another text stays as it is. No op may be called here. */
function explained(text: string): string {
  const [, variables] = LOADER.exec(text) ?? [];
  if (variables !== undefined) return refusal("run", `a program with ${variables}`) ?? text;
  const [, link] = LINK.exec(text) ?? [];
  if (link !== undefined) {
    return (
      `\`${link}\` is not permitted: a link can lead anywhere, so that it needs all of ` +
      "`permissions.read` and `permissions.write`\nhint: set both to `all`, or copy the file"
    );
  }
  const [, kind, what = ""] = REQUIRES.exec(text) ?? [];
  return (kind === undefined ? undefined : refusal(kind, what.replace(/^"|"$/g, ""))) ?? text;
}

function refusal(kind: string, what: string): string | undefined {
  const texts = settings.refusals[kind];
  return what === "" ? texts?.any : texts?.to.split("\0").join(what.replace(/[\r\n]/g, " "));
}

const PERMIT = /`haft permit NAME (--allow [^\n]*)` grants it to the tool NAME/;

/** The hint with the name of the tool that runs, if it is known and plain. */
function named(text: string): string {
  const owner = currentCall.get()?.owner ?? "";
  if (!/^[\w.-]+$/.test(owner)) return text;
  return text.replace(
    PERMIT,
    (_, wish) => `\`haft permit ${owner} ${wish}\` grants it to the tool ${owner}`,
  );
}

// The class calls what is its prototype at that time, so this stands between it and `Error`.
Object.setPrototypeOf(
  NotCapable,
  class extends Error {
    constructor(message: unknown, options?: ErrorOptions) {
      super(named(explained(`${message}`)), options);
    }
  },
);
