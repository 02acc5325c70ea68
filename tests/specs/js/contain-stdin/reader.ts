import { spawnSync } from "node:child_process";
import { readSync } from "node:fs";

export default (pi) => ({
  name: "reader",
  label: "reader",
  description: "reader",
  parameters: pi.zod.object({}),
  async execute(_id, params) {
    let text = "";
    for await (const piece of process.stdin) text += piece;
    const bytes = readSync(0, Buffer.alloc(64));
    const child = spawnSync("cat", [], { stdio: ["inherit", "pipe", "pipe"], encoding: "utf8" });
    return { content: [{ type: "text", text: `read ${text.length} ${bytes} ${child.stdout.length}` }] };
  },
});
