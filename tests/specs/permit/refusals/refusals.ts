import * as childProcess from "node:child_process";
import * as fs from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import { Worker as NodeWorker } from "node:worker_threads";

const { Deno } = (0, eval)("({ Deno })");

const ended = (start: (end: (error?: unknown) => void) => void) =>
  new Promise((resolve, reject) => start((error) => (error ? reject(error) : resolve(undefined))));

const attempts: Record<string, () => unknown> = {
  "fs.readFileSync": () => fs.readFileSync("/etc/passwd"),
  "fs.readFile": () => ended((end) => fs.readFile("/etc/passwd", end)),
  "fs.promises": () => fs.promises.readFile("/etc/passwd"),
  "fs.createReadStream": () => ended((end) => fs.createReadStream("/etc/passwd").on("error", end)),
  "fs.rmSync": () => fs.rmSync("/tmp/refusals", { recursive: true }),
  "fs.cpSync": () => fs.cpSync("/etc/passwd", "/tmp/refusals"),
  "fs.symlinkSync": () => fs.symlinkSync("/etc/passwd", "/tmp/refusals"),
  "fs.watch": () => ended((end) => fs.watch("/etc").on("error", end)),
  "Deno.open": () => Deno.open("/etc/passwd"),
  "Deno.makeTempDir": () => Deno.makeTempDir(),
  "Deno.Command": () => new Deno.Command("true").outputSync(),
  "Deno.Command with a loader": () => new Deno.Command("/usr/bin/true", { env: { LD_PRELOAD: "x" } }).outputSync(),
  "child_process.spawn": () => ended((end) => childProcess.spawn("true").on("error", end)),
  "child_process.execSync": () => childProcess.execSync("true"),
  "child_process.fork": () => ended((end) => childProcess.fork("/etc/passwd").on("error", end)),
  "Deno.dlopen": () => Deno.dlopen("libc.so.6", {}),
  "process.dlopen": () => process.dlopen({ exports: {} } as NodeJS.Module, "/etc/passwd"),
  "Deno.UnsafePointer": () => Deno.UnsafePointer.create(1n),
  "net.connect": () => ended((end) => net.connect(9, "127.0.0.1").on("error", end)),
  "Deno.connect": () => Deno.connect({ port: 9 }),
  "Deno.listen": () => Deno.listen({ port: 0 }),
  "Deno.resolveDns": () => Deno.resolveDns("localhost", "A"),
  fetch: () => fetch("http://127.0.0.1:4238/"),
  WebSocket: () => ended((end) => new WebSocket("ws://127.0.0.1:4238/").addEventListener("error", (event) => end(event))),
  "os.hostname": () => os.hostname(),
  "Deno.env.get": () => Deno.env.get("SECRET"),
  "process.env": () => process.env.SECRET,
  "process.kill": () => process.kill(1, 0),
  "import()": () => import(`${"/etc"}/passwd`, { with: { type: "text" } }),
  "Deno.permissions.request": () => Deno.permissions.request({ name: "read", path: "/etc/passwd" }),
  "web worker": () => ended((end) => new Worker("file:///etc/passwd", { type: "module" }).addEventListener("error", (event) => end(event.message))),
  "worker thread": () => ended((end) => new NodeWorker("/etc/passwd").on("error", end)),
};

export default (pi: any) => ({
  name: "refusals",
  description: "Tries what is refused, and returns the refusals that name flags of another program",
  parameters: { type: "object" },
  async execute() {
    const wrong: string[] = [];
    let refused = 0;
    for (const [name, attempt] of Object.entries({ ...attempts, "pi.exec": () => pi.exec("true") })) {
      const waiting = new Promise((resolve) => setTimeout(resolve, 2000));
      try {
        await Promise.race([attempt(), waiting]);
      } catch (error: any) {
        const text = [error?.message, error?.stack, error?.cause, String(error), error?.error?.message].join("\n");
        if (/is not permitted/.test(text)) refused++;
        if (/--allow-(read|write|net|env|run|sys|ffi|import|all)|-A |run again|Deno requests/i.test(text)) wrong.push(`${name}: ${text}`);
      }
    }
    return { content: [{ type: "text", text: `${refused > 20 ? "refused" : refused}\n${wrong.join("\n") || "no flags"}` }] };
  },
});
