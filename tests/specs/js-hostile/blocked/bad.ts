// Tools by name, each wrong in its own way.
import { execSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";

const text = (value: unknown) => ({ content: [{ type: "text", text: String(value) }] });

const tools: Record<string, () => unknown> = {
  sync: () => text(execSync("sleep 600 3>held")),
  again: () => { for (;;) spawnSync("sh", ["-c", "exec 3>held; sleep 600; sleep 600"]); },
  pipe: () => text(readFileSync("empty")),
  pipeLater: async () => text(await readFile("empty")),
  native: () => text(new Array(100_000_000).fill("abcdefgh").join("").length),
};

export default (pi) =>
  Object.entries(tools).map(([name, execute]) => ({
    name,
    label: name,
    description: name,
    parameters: pi.zod.object({}),
    execute,
  }));
