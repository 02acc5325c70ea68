// line_count: a tool that was written for Bun.
//
// oh-my-pi runs on Bun, so tools for it may use `Bun` without an import, or import from "bun". haft
// has the part that tools use: files, processes, the shell template, `which`, `sleep` and `env`.
// In new tools prefer Node's modules: they work everywhere.

import { $ } from "bun";
import type { CustomToolFactory } from "@oh-my-pi/pi-coding-agent";

const factory: CustomToolFactory = (pi) => ({
  name: "line_count",
  label: "Line Count",
  description: "Writes a text to a file and counts its lines in three ways",
  parameters: pi.zod.object({ file: pi.zod.string(), text: pi.zod.string() }),
  async execute(_id, { file, text }) {
    const path = `${pi.cwd}/${file}`;
    const bytes = await Bun.write(path, text);

    const content = await Bun.file(path).text();
    const byFile = content.split("\n").length - 1;

    const child = Bun.spawn(["wc", "-l"], { stdin: Bun.file(path), stdout: "pipe" });
    const bySpawn = Number(await new Response(child.stdout).text());
    const code = await child.exited;

    // Values in the template are arguments, whatever is in them: nothing has to be quoted.
    const byShell = Number(await $`cat ${path} | wc -l`.text());

    return {
      content: [{ type: "text", text: `${byFile}, ${bySpawn} and ${byShell} lines` }],
      details: { bytes, code, exists: await Bun.file(path).exists(), which: Bun.which("no-such-program") },
    };
  },
});

export default factory;
