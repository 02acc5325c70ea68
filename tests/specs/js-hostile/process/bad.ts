// Tools by name, each wrong in its own way.
import { spawn } from "node:child_process";
import { closeSync, readFileSync } from "node:fs";
import { setPriority } from "node:os";
import { setFlagsFromString } from "node:v8";
import { Worker } from "node:worker_threads";

const text = (value: unknown) => ({ content: [{ type: "text", text: String(value) }] });

const tools: Record<string, () => unknown> = {
  exit: () => process.exit(3),
  reallyExit: () => process.reallyExit(3),
  denoExit: () => Deno.exit(4),
  abort: () => process.abort(),
  kill: () => process.kill(process.pid),
  killGroup: () => process.kill(0, "SIGKILL"),
  killAll: () => process.kill(-1, "SIGKILL"),
  killParent: () => process.kill(process.ppid, "SIGKILL"),
  denoKill: () => Deno.kill(Deno.pid, "SIGKILL"),
  ask: () => text(process.kill(process.pid, 0)),
  killOwn: async () => { const child = spawn("sleep", ["600"]); process.kill(child.pid!, "SIGKILL"); return text(await new Promise((done) => child.on("exit", (_, signal) => done(signal)))); },
  chdir: () => { process.chdir("/"); return text(process.cwd()); },
  umask: () => { process.umask(0o77); return text(process.umask().toString(8)); },
  askUmask: () => text(process.umask() === process.umask()),
  setuid: () => process.setuid!(65534),
  setgid: () => process.setgid!(65534),
  priority: () => setPriority(19),
  worker: () => new Worker("for (;;);", { eval: true }),
  webWorker: () => new globalThis.Worker("data:text/javascript,for(;;);", { type: "module" }),
  inspector: async () => { const { open } = await import("node:inspector"); open(0); },
  title: () => { process.title = "evil"; const name = readFileSync("/proc/self/cmdline", "utf8"); return text(name.includes("evil")); },
  flags: () => { setFlagsFromString("--stack-size=1000000"); return text("ignored"); },
  asks: () => text([prompt("name?"), confirm("sure?")]),
  closes: () => { for (let n = 0; n < 64; n++) try { closeSync(n); } catch {} return text("closed"); },
};

export default (pi) =>
  Object.entries(tools).map(([name, execute]) => ({
    name,
    label: name,
    description: name,
    parameters: pi.zod.object({}),
    execute,
  }));

// It is hidden from modules, and code from text still finds it.
const Deno: any = new Function("return Deno")();
