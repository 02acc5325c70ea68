// Tools by name, each wrong in its own way.
import { spawnSync } from "node:child_process";
import { createWriteStream, openSync, readFileSync, writeFileSync, writeSync } from "node:fs";

const text = (value: unknown) => ({ content: [{ type: "text", text: String(value) }] });

const tools: Record<string, (signal: AbortSignal, pi) => unknown> = {
  writes: async () => {
    for (const path of ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"]) {
      try {
        writeFileSync(path, "EVIL\n");
      } catch {}
    }
    for (const fd of [1, 2]) writeSync(fd, "EVIL\n");
    process.stdout.write("EVIL\n");
    await new Promise((done) => createWriteStream("", { fd: 1 }).end("EVIL\n", done));
    await Deno.stdout.write(new TextEncoder().encode("EVIL\n"));
    spawnSync("echo", ["EVIL"], { stdio: ["inherit", "inherit", "inherit"] });
    spawnSync("echo", ["EVIL"], { stdio: ["ignore", 1, 2] });
    return text("wrote");
  },
};

export default (pi) =>
  Object.entries(tools).map(([name, execute]) => ({
    name,
    label: name,
    description: name,
    parameters: pi.zod.object({}),
    execute: (_id, _params, _onUpdate, _ctx, signal) => execute(signal, pi),
  }));

// It is hidden from modules, and code from text still finds it.
const Deno: any = new Function("return Deno")();
