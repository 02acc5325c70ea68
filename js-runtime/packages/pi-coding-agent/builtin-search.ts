// pi's own tools that search, which extensions take to change or to draw: find, grep.

import { Type } from "@sinclair/typebox";

import { builtin } from "../builtin.ts";
import { absolute, type BuiltinTool, listResult, textResult } from "./builtin-files.ts";
import { truncateLine } from "./truncate.ts";

interface Options {
  operations?: Record<string, (...args: any[]) => any>;
}

/** Folders that no search enters. */
const SKIPPED = new Set([".git", "node_modules"]);

/** Most results without a `limit`. */
const MAX_FILES = 1000;
const MAX_MATCHES = 100;

/** Returns a function that tells which relative paths fit. A pattern without a slash fits the name. */
function matcher(pattern: string): (path: string) => boolean {
  const glob = new (globalThis as any).Bun.Glob(pattern);
  const isName = !pattern.includes("/");
  return (path) =>
    glob.match(path) || (isName && glob.match(path.slice(path.lastIndexOf("/") + 1)));
}

/** Lists the files below a folder, in the order of their names. */
async function* below(folder: string, prefix = "", signal?: AbortSignal): AsyncGenerator<string> {
  signal?.throwIfAborted();
  const { join } = builtin("node:path");
  const entries = await builtin("node:fs").promises.readdir(join(folder, prefix), {
    withFileTypes: true,
  });
  entries.sort((a, b) => a.name.localeCompare(b.name));
  for (const entry of entries) {
    const path = prefix === "" ? entry.name : `${prefix}/${entry.name}`;
    if (entry.isDirectory()) {
      if (!SKIPPED.has(entry.name)) yield* below(folder, path, signal);
    } else yield path;
  }
}

export function createFindTool(cwd: string, { operations = {} }: Options = {}): BuiltinTool {
  return {
    name: "find",
    label: "find",
    description: "Finds files by a glob pattern. Skips `.git` and `node_modules`.",
    parameters: Type.Object({
      pattern: Type.String({ description: "Glob pattern, `*.ts` or `src/**/*.json`" }),
      path: Type.Optional(Type.String({ description: "Folder to search in" })),
      limit: Type.Optional(Type.Number({ description: `Most results; ${MAX_FILES} without it` })),
    }),
    async execute(_id, { pattern, path = ".", limit = MAX_FILES }, signal) {
      const folder = absolute(cwd, path);
      let found: string[] = [];
      const glob = operations["glob"];
      if (glob !== undefined) {
        found = await glob(pattern, folder, {
          ignore: ["**/node_modules/**", "**/.git/**"],
          limit,
        });
      } else {
        const fits = matcher(pattern);
        for await (const file of below(folder, "", signal)) {
          if (fits(file) && found.push(file) >= limit) break;
        }
      }
      if (found.length === 0) return textResult("No files found matching pattern");
      if (found.length < limit) return listResult(found);
      const note = `${limit} results at most; a larger limit finds more`;
      return listResult(found, { resultLimitReached: limit }, note);
    },
  };
}

export function createGrepTool(cwd: string, { operations = {} }: Options = {}): BuiltinTool {
  const fs = () => builtin("node:fs").promises;
  const isDirectory =
    operations["isDirectory"] ?? (async (path: string) => (await fs().stat(path)).isDirectory());
  const read = operations["readFile"] ?? ((path: string) => fs().readFile(path, "utf8"));
  return {
    name: "grep",
    label: "grep",
    description:
      "Searches the lines of files by a regular expression. Skips `.git` and `node_modules`.",
    parameters: Type.Object({
      pattern: Type.String({ description: "Regular expression, or a text with `literal`" }),
      path: Type.Optional(Type.String({ description: "File or folder to search" })),
      glob: Type.Optional(Type.String({ description: "Only files that this pattern fits" })),
      ignoreCase: Type.Optional(
        Type.Boolean({ description: "Small and capital letters are equal" }),
      ),
      literal: Type.Optional(Type.Boolean({ description: "The pattern is a plain text" })),
      context: Type.Optional(Type.Number({ description: "Lines around each match" })),
      limit: Type.Optional(Type.Number({ description: `Most matches; ${MAX_MATCHES} without it` })),
    }),
    async execute(_id, params, signal) {
      const { path = ".", glob, context = 0, limit = MAX_MATCHES } = params;
      const root = absolute(cwd, path);
      const isFolder = await isDirectory(root);
      const pattern = expression(params);
      const fits = glob === undefined ? () => true : matcher(glob);
      const { join, basename } = builtin("node:path");
      const lines: string[] = [];
      let matches = 0;
      let isCut = false;
      for await (const file of isFolder ? below(root, "", signal) : [""]) {
        const name = file === "" ? basename(root) : file;
        if (!fits(name)) continue;
        const text = await Promise.resolve(read(join(root, file))).catch(() => "");
        // A file with a zero byte is not text.
        if (text.includes("\0")) continue;
        const all: string[] = text.split("\n");
        for (const [index, line] of all.entries()) {
          if (!pattern.test(line)) continue;
          matches += 1;
          for (let at = index - context; at <= index + context; at++) {
            const around = all[at];
            if (around === undefined) continue;
            const { text: shown, wasTruncated } = truncateLine(around);
            isCut ||= wasTruncated;
            const mark = at === index ? ":" : "-";
            lines.push(`${name}${mark}${at + 1}${mark} ${shown}`);
          }
          if (matches >= limit) break;
        }
        if (matches >= limit) break;
      }
      if (matches === 0) return textResult("No matches found");
      const details = isCut ? { linesTruncated: true } : {};
      if (matches < limit) return listResult(lines, details);
      const note = `${limit} matches at most; a larger limit finds more`;
      return listResult(lines, { ...details, matchLimitReached: limit }, note);
    },
  };
}

interface Search {
  pattern: string;
  literal?: boolean;
  ignoreCase?: boolean;
}

function expression({ pattern, literal, ignoreCase }: Search): RegExp {
  const source = literal ? pattern.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&") : pattern;
  return new RegExp(source, ignoreCase ? "i" : "");
}
