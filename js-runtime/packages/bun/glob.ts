// `Bun.Glob`: patterns for paths, matched and scanned.
//
// Supports `*`, `?`, `**`, `[a-z]`, `[!a]`, `{a,b}`, `\` and a leading `!`. A scan does not follow
// links to folders by default, and leaves out names with a leading dot.

import { builtin } from "../builtin.ts";

export interface ScanOptions {
  cwd?: string;
  dot?: boolean;
  absolute?: boolean;
  followSymlinks?: boolean;
  onlyFiles?: boolean;
}

export class Glob {
  readonly pattern: string;
  readonly #regex: RegExp;
  readonly #negated: boolean;

  constructor(pattern: string) {
    const marks = /^!*/.exec(pattern)?.[0].length ?? 0;
    this.pattern = pattern;
    this.#negated = marks % 2 === 1;
    this.#regex = new RegExp(`^(?:${translate(pattern.slice(marks).replace(/^\.\//, ""))})$`, "s");
  }

  match(path: string): boolean {
    return this.#regex.test(path) !== this.#negated;
  }

  *scanSync(given: string | ScanOptions = {}): Generator<string> {
    const options = typeof given === "string" ? { cwd: given } : given;
    const { join, resolve } = builtin("node:path");
    const root = resolve(options.cwd ?? builtin("node:process").cwd());
    const depth = this.pattern.includes("**")
      ? Number.POSITIVE_INFINITY
      : this.pattern.split("/").length;
    for (const path of walk(root, "", depth, options)) {
      if (this.match(path)) yield options.absolute ? join(root, path) : path;
    }
  }

  async *scan(options: string | ScanOptions = {}): AsyncGenerator<string> {
    yield* this.scanSync(options);
  }
}

function* walk(
  root: string,
  below: string,
  depth: number,
  options: ScanOptions,
): Generator<string> {
  const { readdirSync, statSync } = builtin("node:fs");
  const { join } = builtin("node:path");
  for (const entry of readable(() => readdirSync(join(root, below), { withFileTypes: true }))) {
    if (entry.name.startsWith(".") && !options.dot) continue;
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    const isLink = entry.isSymbolicLink();
    const linked = isLink ? readable(() => [statSync(join(root, path))])[0] : undefined;
    const isFolder = isLink ? (linked?.isDirectory() ?? false) : entry.isDirectory();
    if (!isFolder || options.onlyFiles === false) yield path;
    if (isFolder && depth > 1 && (!isLink || options.followSymlinks))
      yield* walk(root, path, depth - 1, options);
  }
}

/** A folder that cannot be read holds nothing that could be found. */
function readable<T>(read: () => T[]): T[] {
  try {
    return read();
  } catch {
    return [];
  }
}

function translate(pattern: string): string {
  let regex = "";
  let braces = 0;
  for (let at = 0; at < pattern.length; at++) {
    const rest = pattern.slice(at);
    const character = pattern[at] as string;
    const set = /^\[([!^]?)((?:\\.|[^\]\\])+)\]/.exec(rest);
    if (rest.startsWith("**/") && isSegmentStart(pattern, at)) {
      regex += "(?:[^/]+/)*";
      at += 2;
    } else if (rest.startsWith("**") && isSegmentStart(pattern, at)) {
      regex += ".*";
      at += 1;
    } else if (character === "*") regex += "[^/]*";
    else if (character === "?") regex += "[^/]";
    else if (set) {
      regex += `[${set[1] ? "^/" : ""}${(set[2] as string).replace(/[[\]^]/g, "\\$&")}]`;
      at += set[0].length - 1;
    } else if (character === "{" && rest.includes("}")) {
      regex += "(?:";
      braces++;
    } else if (character === "}" && braces > 0) {
      regex += ")";
      braces--;
    } else if (character === "," && braces > 0) regex += "|";
    else if (character === "\\" && at + 1 < pattern.length)
      regex += literally(pattern[++at] as string);
    else regex += literally(character);
  }
  return regex + ")".repeat(braces);
}

function isSegmentStart(pattern: string, at: number): boolean {
  return at === 0 || "/{,".includes(pattern[at - 1] as string);
}

function literally(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
}
