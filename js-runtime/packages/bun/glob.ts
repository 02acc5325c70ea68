// `Bun.Glob`: patterns for paths, matched and scanned.
//
// Supports `*`, `?`, `**`, `[a-z]`, `[!a]`, `{a,b}`, `\` and a leading `!`. A scan does not follow
// links to folders by default, and leaves out names with a leading dot.

import { builtin } from "../builtin.ts";
import { data } from "./data.ts";

export interface ScanOptions {
  cwd?: string;
  dot?: boolean;
  absolute?: boolean;
  followSymlinks?: boolean;
  onlyFiles?: boolean;
}

export class Glob {
  readonly pattern: string;
  readonly #matches: (path: string) => boolean;

  constructor(pattern: string) {
    this.pattern = pattern;
    this.#matches = data().matcher(pattern);
  }

  match(path: string): boolean {
    return this.#matches(path);
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
