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
  if (texts === undefined || what === "") return texts?.any;
  let text = texts.to;
  for (let at = 0; at < texts.denied.length; at++) {
    const [entry, denied] = texts.denied[at] as [string, string];
    if (isNamed(entry, what)) text = denied;
  }
  const line = what.replace(/[\r\n]/g, " ");
  return text
    .split(`${kind}=\0`)
    .join(shellWord(`${kind}=${line}`))
    .split("\0")
    .join(line);
}

/** The text as one word of a shell's command line; twin of `shell_word` in `crates/tool/src/permissions.rs`. */
function shellWord(text: string): string {
  return /^[\p{L}\p{N}/._\-+@%=:,]+$/u.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** True if a denied entry names the resource: itself, what is below it, its ports, or a pattern. */
function isNamed(entry: string, what: string): boolean {
  if (entry.endsWith("*")) return what.startsWith(entry.slice(0, -1));
  const rest = what.startsWith(entry) ? what.slice(entry.length) : undefined;
  return (
    rest === "" || rest?.[0] === "/" || rest?.[0] === ":" || (entry === "/" && what[0] === "/")
  );
}

const PERMIT =
  /`haft permit NAME (--(?:allow|remove) [^\n]*)` (grants it to the tool NAME|ends your refusal)/;

/** The hint with the name of the tool that runs, if it is known and plain. */
function named(text: string): string {
  const owner = currentCall.get()?.owner ?? "";
  if (!/^[\w.-]+$/.test(owner)) return text;
  return text.replace(
    PERMIT,
    (_, wish, effect) => `\`haft permit ${owner} ${wish}\` ${effect.replace("NAME", owner)}`,
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
