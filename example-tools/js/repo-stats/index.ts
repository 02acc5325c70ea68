// repo_stats: what a git repository consists of.
//
// Shows a zod parameter with a default, child processes through `pi.exec`, and progress that the
// caller sees while the work still runs. Only files that git tracks are counted; the working tree
// is read, never written.
//
//   haft --tool repo-stats/index.ts call repo_stats --arg glob='*.rs'
//
// `pi.exec` takes a program and its arguments, not a shell line: nothing in `glob` can be executed.

import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

interface Kind {
  kind: string;
  files: number;
  lines: number;
}

const factory: CustomToolFactory = (pi) => ({
  name: "repo_stats",
  label: "Repo Stats",
  description: "Counts the tracked files and lines of the current git repository, by kind of file",
  // It only looks, but it does so with a program: a call of the tier `read` starts none.
  approval: "exec",
  parameters: pi.zod.object({
    glob: pi.zod.string().optional().default("*").describe("which files, as a git pathspec"),
    top: pi.zod.number().int().min(1).optional().default(5).describe("how many kinds to show"),
  }),

  async execute(toolCallId, params, onUpdate, ctx, signal) {
    const git = async (...args: string[]) => {
      const result = await pi.exec("git", args, { signal, cwd: pi.cwd });
      if (result.killed) throw new Error("cancelled");
      if (result.code !== 0) throw new Error(result.stderr.trim() || `git ${args[0]} failed`);
      return result.stdout;
    };
    const say = (text: string, details: object) =>
      onUpdate?.({ content: [{ type: "text", text }], details });

    say("Asking git for its files", { phase: "list" });
    const files = (await git("ls-files", "-z", "--", params.glob)).split("\0").filter(Boolean);

    say(`Reading ${files.length} files`, { phase: "read", total: files.length });
    const kinds = new Map<string, Kind>();
    for (const [done, file] of files.entries()) {
      signal?.throwIfAborted();
      if (done > 0 && done % 100 === 0) say(`Read ${done} of ${files.length}`, { phase: "read", done });
      const kind = extname(file) || "(none)";
      const entry = kinds.get(kind) ?? { kind, files: 0, lines: 0 };
      entry.files += 1;
      entry.lines += await countLines(join(pi.cwd, file));
      kinds.set(kind, entry);
    }

    const commits = Number(await git("rev-list", "--count", "HEAD"));
    const sorted = [...kinds.values()].sort((a, b) => b.lines - a.lines || a.kind.localeCompare(b.kind));
    const lines = sorted.reduce((sum, entry) => sum + entry.lines, 0);
    const table = sorted
      .slice(0, params.top)
      .map((entry) => `${entry.kind.padEnd(8)} ${String(entry.files).padStart(5)} files ${String(entry.lines).padStart(7)} lines`);
    return {
      content: [
        { type: "text", text: [`${files.length} files, ${lines} lines, ${commits} commits`, ...table].join("\n") },
      ],
      details: { count: files.length, lines, commits, kinds: sorted, sample: files.slice(0, 10) },
    };
  },
});

/** Counts newlines; a tracked file that was deleted (or is a submodule) has none. */
async function countLines(path: string): Promise<number> {
  const bytes = await readFile(path).catch(() => Buffer.alloc(0));
  return bytes.reduce((count, byte) => (byte === 10 ? count + 1 : count), 0);
}

export default factory;
