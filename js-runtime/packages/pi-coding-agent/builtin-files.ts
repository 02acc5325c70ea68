// pi's own tools for files, which extensions take to change or to draw: read, write, edit, ls.
//
// Each takes the functions that reach the files as `operations`, so that an extension can put another
// machine in their place.

import { Type } from "@sinclair/typebox";

import { builtin } from "../builtin.ts";
import { withFileMutationQueue } from "./custom-tool.ts";
import { generateDiffString } from "./diff.ts";
import { formatSize, truncateHead } from "./truncate.ts";

type Content = { type: "text"; text: string } | { type: "image"; data: string; mimeType: string };

/** Result of one of pi's tools. */
export interface BuiltinResult {
  content: Content[];
  details: any;
}

/** One of pi's tools. */
export interface BuiltinTool {
  name: string;
  label: string;
  description: string;
  parameters: unknown;
  execute(
    toolCallId: string,
    params: any,
    signal?: AbortSignal,
    onUpdate?: (partial: BuiltinResult) => void,
    ctx?: unknown,
  ): Promise<BuiltinResult>;
}

/** Returns a text result. */
export function textResult(text: string, details?: unknown): BuiltinResult {
  return { content: [{ type: "text", text }], details };
}

/** Returns lines as a text, with a note below it if it does not have all. */
export function listResult(lines: string[], details: object = {}, note = ""): BuiltinResult {
  const truncation = truncateHead(lines.join("\n"), { maxLines: Number.MAX_SAFE_INTEGER });
  const text = note === "" ? truncation.content : `${truncation.content}\n\n[${note}]`;
  return textResult(text, { ...(truncation.truncated ? { truncation } : {}), ...details });
}

/** Returns the absolute path. A leading `@` marks files in prompts, and `~` is the home directory. */
export function absolute(cwd: string, path: string): string {
  const { resolve } = builtin("node:path");
  const { homedir } = builtin("node:os");
  const plain = path.replace(/^@/, "");
  return resolve(cwd, plain.replace(/^~(?=\/|$)/, homedir()));
}

interface Options {
  operations?: Record<string, (...args: any[]) => any>;
}

const files = () => builtin("node:fs").promises;

/** The first bytes of pictures that a model can see. */
const PICTURES: readonly [RegExp, string][] = [
  [/^\x89PNG\r\n\x1a\n/, "image/png"],
  [/^\xff\xd8\xff/, "image/jpeg"],
  [/^GIF8[79]a/, "image/gif"],
  [/^RIFF....WEBP/s, "image/webp"],
];

function pictureType(bytes: Uint8Array): string | undefined {
  const start = String.fromCharCode(...bytes.subarray(0, 16));
  return PICTURES.find(([pattern]) => pattern.test(start))?.[1];
}

export function createReadTool(cwd: string, { operations = {} }: Options = {}): BuiltinTool {
  const read = operations["readFile"] ?? ((path: string) => files().readFile(path));
  return {
    name: "read",
    label: "read",
    description:
      "Reads a file: its text in whole lines, or a picture. `offset` and `limit` select lines.",
    parameters: Type.Object({
      path: Type.String({ description: "Path of the file" }),
      offset: Type.Optional(Type.Number({ description: "First line, counted from 1" })),
      limit: Type.Optional(Type.Number({ description: "Number of lines" })),
    }),
    async execute(_id, { path, offset = 1, limit }, signal) {
      signal?.throwIfAborted();
      const file = absolute(cwd, path);
      await operations["access"]?.(file);
      const bytes: Uint8Array = await read(file);
      const mimeType = (await operations["detectImageMimeType"]?.(file)) ?? pictureType(bytes);
      if (mimeType !== undefined && mimeType !== null) {
        const { Buffer } = builtin("node:buffer");
        const data = Buffer.from(bytes).toString("base64");
        const note = { type: "text" as const, text: `Read image file [${mimeType}]` };
        return { content: [note, { type: "image", data, mimeType }], details: undefined };
      }
      const lines = new TextDecoder().decode(bytes).split("\n");
      const first = Math.max(1, offset);
      if (first > lines.length) {
        throw new Error(
          `Offset ${first} is beyond the end of the file, which has ${lines.length} lines`,
        );
      }
      const wanted = lines.slice(first - 1, limit === undefined ? undefined : first - 1 + limit);
      const truncation = truncateHead(wanted.join("\n"));
      if (truncation.firstLineExceedsLimit) {
        const size = formatSize(truncation.totalBytes);
        return textResult(`[Line ${first} is too long to show: ${size}]`, { truncation });
      }
      const next = first + truncation.outputLines;
      const rest = next <= lines.length;
      const note = rest
        ? `\n\n[${lines.length - next + 1} more lines. offset=${next} continues.]`
        : "";
      return textResult(
        truncation.content + note,
        truncation.truncated ? { truncation } : undefined,
      );
    },
  };
}

export function createWriteTool(cwd: string, { operations = {} }: Options = {}): BuiltinTool {
  const write =
    operations["writeFile"] ?? ((path: string, text: string) => files().writeFile(path, text));
  const mkdir = operations["mkdir"] ?? ((path: string) => files().mkdir(path, { recursive: true }));
  return {
    name: "write",
    label: "write",
    description: "Writes a file, and makes its folders. What was in the file before is gone.",
    parameters: Type.Object({
      path: Type.String({ description: "Path of the file" }),
      content: Type.String({ description: "The new content" }),
    }),
    execute(_id, { path, content }, signal) {
      const file = absolute(cwd, path);
      return withFileMutationQueue(file, async () => {
        signal?.throwIfAborted();
        await mkdir(builtin("node:path").dirname(file));
        await write(file, content);
        return textResult(`Successfully wrote ${content.length} bytes to ${path}`);
      });
    },
  };
}

export function createEditTool(cwd: string, { operations = {} }: Options = {}): BuiltinTool {
  const read = operations["readFile"] ?? ((path: string) => files().readFile(path));
  const write =
    operations["writeFile"] ?? ((path: string, text: string) => files().writeFile(path, text));
  return {
    name: "edit",
    label: "edit",
    description: "Replaces text in a file. Each old text has to be in the file exactly once.",
    parameters: Type.Object({
      path: Type.String({ description: "Path of the file" }),
      oldText: Type.Optional(Type.String({ description: "The text to replace" })),
      newText: Type.Optional(Type.String({ description: "The text in its place" })),
      edits: Type.Optional(
        Type.Array(Type.Object({ oldText: Type.String(), newText: Type.String() }), {
          description: "Several replacements at once",
        }),
      ),
    }),
    execute(_id, { path, oldText, newText, edits }, signal) {
      const file = absolute(cwd, path);
      return withFileMutationQueue(file, async () => {
        signal?.throwIfAborted();
        await operations["access"]?.(file);
        const before = new TextDecoder().decode(await read(file));
        const given = edits ?? [{ oldText, newText }];
        let after = before;
        for (const edit of given) after = replaced(after, edit, path);
        if (after === before)
          throw new Error(`No changes made to ${path}: both texts are the same`);
        await write(file, after);
        const text = `Successfully replaced text in ${path}.`;
        return textResult(text, generateDiffString(before, after));
      });
    },
  };
}

interface Edit {
  oldText?: string;
  newText?: string;
}

function replaced(text: string, { oldText = "", newText = "" }: Edit, path: string): string {
  const parts = oldText === "" ? [text] : text.split(oldText);
  if (parts.length === 1) throw new Error(`Could not find the exact text in ${path}`);
  if (parts.length > 2) {
    throw new Error(`Found ${parts.length - 1} occurrences of the text in ${path}: make it unique`);
  }
  return parts.join(newText);
}

/** Most entries that `ls` lists without a `limit`. */
const MAX_ENTRIES = 500;

export function createLsTool(cwd: string, { operations = {} }: Options = {}): BuiltinTool {
  const stat = operations["stat"] ?? ((path: string) => files().stat(path));
  const list = operations["readdir"] ?? ((path: string) => files().readdir(path));
  return {
    name: "ls",
    label: "ls",
    description: "Lists a folder in the order of names. Folders have a `/` at their end.",
    parameters: Type.Object({
      path: Type.Optional(Type.String({ description: "Path of the folder" })),
      limit: Type.Optional(Type.Number({ description: `Most entries; ${MAX_ENTRIES} without it` })),
    }),
    async execute(_id, { path = ".", limit = MAX_ENTRIES }, signal) {
      signal?.throwIfAborted();
      const folder = absolute(cwd, path);
      if (!(await stat(folder)).isDirectory()) throw new Error(`Not a directory: ${folder}`);
      const names: string[] = [...(await list(folder))].sort((a, b) => a.localeCompare(b));
      const lines: string[] = [];
      for (const name of names.slice(0, limit)) {
        const entry = builtin("node:path").join(folder, name);
        const isFolder = await Promise.resolve(stat(entry)).then(
          (found: any) => found.isDirectory(),
          () => false,
        );
        lines.push(isFolder ? `${name}/` : name);
      }
      if (lines.length === 0) return textResult("(empty directory)");
      if (names.length <= limit) return listResult(lines);
      const note = `${limit} entries of ${names.length}`;
      return listResult(lines, { entryLimitReached: limit }, note);
    },
  };
}
