// Every cell is an API with the kinds of permission that it needs. The tool runs all of them and says what
// became of each; `permissions.rs` compares that to the configuration, and looks at the effects from outside.

import * as childProcess from "node:child_process";
import * as dgram from "node:dgram";
import * as dns from "node:dns";
import * as fs from "node:fs";
import * as http from "node:http";
import { createRequire } from "node:module";
import * as net from "node:net";
import * as os from "node:os";
import * as zlib from "node:zlib";

type Run = (at: { out: string; seen: string; url: string; port: number; id: string }) => unknown;
// `all`: every kind of permission; `never`: no permission is enough.
type Cell = [name: string, needs: string, run: Run, effect?: "made" | "gone" | "hit"];

const { Deno } = (0, eval)("({ Deno })");
const { Bun } = globalThis as any;
const SECRET = "TABLE_SECRET";
const SECRET_VALUE = "table-secret";

const done = (start: (end: (error?: unknown) => void) => void) =>
  new Promise((resolve, reject) => start((error) => (error ? reject(error) : resolve(undefined))));

const holdsSecret = (text: unknown) => {
  if (!`${text}`.includes(SECRET_VALUE)) throw new Error("the secret is hidden: is not permitted");
};

const ended = (child: any) =>
  new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code: number) => (code === 0 ? resolve(0) : reject(new Error(`${code}`))));
  });

const computed = (path: string) => `${path}`;

const cells: Cell[] = [
  // Reading.
  ["fs.readFileSync", "read", ({ seen }) => fs.readFileSync(seen)],
  ["fs.readFile", "read", ({ seen }) => done((end) => fs.readFile(seen, end))],
  ["fs.promises.readFile", "read", ({ seen }) => fs.promises.readFile(seen)],
  ["fs.createReadStream", "read", ({ seen }) => done((end) => fs.createReadStream(seen).on("error", end).on("data", () => end()))],
  ["fs.openSync r", "read", ({ seen }) => fs.closeSync(fs.openSync(seen, "r"))],
  ["fs.promises.open r", "read", async ({ seen }) => (await fs.promises.open(seen)).close()],
  ["fs.readdirSync", "read", ({ out }) => fs.readdirSync(out)],
  ["fs.promises.readdir", "read", ({ out }) => fs.promises.readdir(out)],
  ["fs.opendirSync", "read", ({ out }) => fs.opendirSync(out).readSync()],
  ["fs.statSync", "read", ({ seen }) => fs.statSync(seen)],
  ["fs.lstatSync", "read", ({ seen }) => fs.lstatSync(seen)],
  ["fs.promises.stat", "read", ({ seen }) => fs.promises.stat(seen)],
  ["fs.accessSync", "read sys", ({ seen }) => fs.accessSync(seen)],
  ["fs.realpathSync", "read", ({ seen }) => fs.realpathSync(seen)],
  ["Deno.readTextFile", "read", ({ seen }) => Deno.readTextFile(seen)],
  ["Deno.readTextFileSync", "read", ({ seen }) => Deno.readTextFileSync(seen)],
  ["Deno.readFile", "read", ({ seen }) => Deno.readFile(seen)],
  ["Deno.open r", "read", async ({ seen }) => (await Deno.open(seen)).close()],
  ["Deno.stat", "read", ({ seen }) => Deno.stat(seen)],
  ["Deno.lstatSync", "read", ({ seen }) => Deno.lstatSync(seen)],
  ["Deno.readDirSync", "read", ({ out }) => [...Deno.readDirSync(out)]],
  ["Deno.realPath", "read", ({ seen }) => Deno.realPath(seen)],
  ["Bun.file.text", "read", ({ seen }) => Bun.file(seen).text()],
  ["Bun.file.bytes", "read", ({ seen }) => Bun.file(seen).bytes()],
  ["Bun.which", "read env", () => Bun.which("sh") ?? Promise.reject(new Error("not found"))],
  ["import text", "read", ({ seen }) => import(computed(seen), { with: { type: "text" } })],
  ["import txt", "read", ({ seen }) => import(computed(seen))],
  ["import json", "read", ({ seen }) => import(computed(`${seen}.json`), { with: { type: "json" } })],
  ["import json by name", "read", ({ seen }) => import(computed(`${seen}.json`))],
  ["import yaml", "read", ({ seen }) => import(computed(`${seen}.yaml`))],
  ["import code", "read", ({ seen }) => import(computed(`${seen}.mjs`))],
  ["require json", "read", ({ seen }) => createRequire(import.meta.url)(computed(`${seen}.json`))],
  ["require code", "read", ({ seen }) => createRequire(import.meta.url)(computed(`${seen}.cjs`))],
  ["import environ", "never", async () => holdsSecret((await import(computed("/proc/self/environ"), { with: { type: "text" } })).default)],
  ["fs environ", "all", () => holdsSecret(fs.readFileSync("/proc/self/environ", "utf8"))],
  ["fs environ by a link", "all", ({ seen }) => holdsSecret(fs.readFileSync(`${seen}.environ`, "utf8"))],
  ["import environ by a link", "never", async ({ seen }) => holdsSecret((await import(computed(`${seen}.environ`), { with: { type: "text" } })).default)],
  ["import a kernel file", "never", () => import(computed("/proc/self/status"), { with: { type: "text" } })],
  ["import a kernel file by a link", "never", ({ seen }) => import(computed(`${seen}.status`), { with: { type: "text" } })],
  ["fs a kernel file", "all", () => fs.readFileSync("/proc/self/status")],
  ["Deno a kernel file", "all", () => Deno.readTextFileSync("/proc/self/maps")],
  ["require a kernel file", "never", ({ seen }) => createRequire(import.meta.url)(computed(`${seen}.kernel.json`))],
  // Writing.
  ["fs.writeFileSync", "write", ({ out }) => fs.writeFileSync(out, "x"), "made"],
  ["fs.writeFile", "write", ({ out }) => done((end) => fs.writeFile(out, "x", end)), "made"],
  ["fs.promises.writeFile", "write", ({ out }) => fs.promises.writeFile(out, "x"), "made"],
  ["fs.appendFileSync", "write", ({ out }) => fs.appendFileSync(out, "x"), "made"],
  ["fs.createWriteStream", "write", ({ out }) => done((end) => fs.createWriteStream(out).on("error", end).on("finish", () => end()).end("x")), "made"],
  ["fs.openSync w", "write", ({ out }) => fs.closeSync(fs.openSync(out, "w")), "made"],
  ["fs.mkdirSync", "write", ({ out }) => fs.mkdirSync(out), "made"],
  ["fs.promises.mkdir", "write", ({ out }) => fs.promises.mkdir(out, { recursive: true }), "made"],
  ["fs.unlinkSync", "write", ({ out }) => fs.unlinkSync(out), "gone"],
  ["fs.promises.rm", "read write", ({ out }) => fs.promises.rm(out), "gone"],
  ["fs.copyFileSync", "read write", ({ seen, out }) => fs.copyFileSync(seen, out), "made"],
  ["Deno.copyFile", "read write", ({ seen, out }) => Deno.copyFile(seen, out), "made"],
  ["fs.renameSync", "read write", ({ out }) => fs.renameSync(out, `${out}.renamed`), "gone"],
  ["fs.linkSync", "read write", ({ seen, out }) => fs.linkSync(seen, out), "made"],
  ["fs.symlinkSync", "read write", ({ seen, out }) => fs.symlinkSync(seen, out), "made"],
  ["Deno.writeTextFile", "write", ({ out }) => Deno.writeTextFile(out, "x"), "made"],
  ["Deno.writeTextFileSync", "write", ({ out }) => Deno.writeTextFileSync(out, "x"), "made"],
  ["Deno.writeFile", "write", ({ out }) => Deno.writeFile(out, new Uint8Array(1)), "made"],
  ["Deno.mkdir", "write", ({ out }) => Deno.mkdir(out), "made"],
  ["Deno.open w", "write", async ({ out }) => (await Deno.open(out, { write: true, create: true })).close(), "made"],
  ["Deno.remove", "write", ({ out }) => Deno.remove(out), "gone"],
  ["Bun.write", "write", ({ out }) => Bun.write(out, "x"), "made"],
  ["node:sqlite", "read write", async ({ out }) => new (await import("node:sqlite")).DatabaseSync(out).exec("create table t(a)"), "made"],
  // Programs.
  ["pi.exec", "run", async ({ out }) => await exec("touch", [out]), "made"],
  ["pi.exec by path", "run", async ({ out }) => await exec("/usr/bin/touch", [out]), "made"],
  ["pi.exec of a shell", "run", async ({ out }) => await exec("sh", ["-c", `touch '${out}'`]), "made"],
  ["spawn", "run", ({ out }) => ended(childProcess.spawn("/usr/bin/touch", [out])), "made"],
  ["spawn detached", "run", ({ out }) => ended(childProcess.spawn("/usr/bin/touch", [out], { detached: true })), "made"],
  ["spawn with a shell", "run", ({ out }) => ended(childProcess.spawn(`touch '${out}'`, { shell: "/bin/sh" })), "made"],
  ["spawnSync", "run", ({ out }) => thrown(childProcess.spawnSync("/usr/bin/touch", [out])), "made"],
  ["exec", "run", ({ out }) => done((end) => childProcess.exec(`touch '${out}'`, end)), "made"],
  ["execSync", "run", ({ out }) => childProcess.execSync(`touch '${out}'`), "made"],
  ["execFile", "run", ({ out }) => done((end) => childProcess.execFile("/usr/bin/touch", [out], end)), "made"],
  ["execFileSync", "run", ({ out }) => childProcess.execFileSync("/usr/bin/touch", [out]), "made"],
  ["Deno.Command.output", "run", ({ out }) => new Deno.Command("touch", { args: [out] }).output(), "made"],
  ["Deno.Command.outputSync", "run", ({ out }) => new Deno.Command("touch", { args: [out] }).outputSync(), "made"],
  ["Deno.Command.spawn", "run", ({ out }) => new Deno.Command("touch", { args: [out] }).spawn().status, "made"],
  ["Bun.spawn", "run", ({ out }) => Bun.spawn(["touch", out]).exited, "made"],
  ["Bun.spawnSync", "run", ({ out }) => Bun.spawnSync(["touch", out]), "made"],
  ["Bun.$", "run", ({ out }) => Bun.$`touch ${out}`.quiet(), "made"],
  ["process.kill", "run", () => process.kill(victim, 0)],
  ["Deno.kill", "run", () => Deno.kill(victim, "SIGCONT")],
  ["pi.exec shows a variable", "run env", async () => holdsSecret((await exec("/usr/bin/printenv", [])).stdout)],
  ["spawnSync shows a variable", "run env", () => holdsSecret(thrown(childProcess.spawnSync("/usr/bin/printenv")).stdout)],
  ["execSync shows a variable", "run env", () => holdsSecret(childProcess.execSync("/usr/bin/printenv"))],
  ["Deno.Command shows a variable", "run env", async () => holdsSecret(new TextDecoder().decode((await new Deno.Command("/usr/bin/printenv").output()).stdout))],
  ["Deno.Command sync shows a variable", "run env", () => holdsSecret(new TextDecoder().decode(new Deno.Command("/usr/bin/printenv").outputSync().stdout))],
  ["Bun.spawn shows a variable", "run env", async () => holdsSecret(await new Response(Bun.spawn(["/usr/bin/printenv"]).stdout).text())],
  // The network.
  ["fetch", "net", async ({ url }) => (await fetch(url)).text(), "hit"],
  ["http.get", "net", ({ url }) => done((end) => http.get(url, (answer) => answer.resume().on("end", () => end())).on("error", end)), "hit"],
  ["http.request", "net", ({ url }) => done((end) => http.request(url, (answer) => answer.resume().on("end", () => end())).on("error", end).end()), "hit"],
  ["net.connect", "net", ({ port, id }) => done((end) => net.connect(port, "127.0.0.1").on("error", end).on("data", () => end()).write(`GET /${id} HTTP/1.1\r\nHost: h\r\n\r\n`)), "hit"],
  ["Deno.connect", "net", async ({ port, id }) => {
    const connection = await Deno.connect({ port, hostname: "127.0.0.1" });
    await connection.write(new TextEncoder().encode(`GET /${id} HTTP/1.1\r\nHost: h\r\n\r\n`));
    await connection.read(new Uint8Array(64));
    connection.close();
  }, "hit"],
  ["Deno.listen", "net", () => Deno.listen({ port: 0, hostname: "127.0.0.1" }).close()],
  ["net.Server.listen", "net", () => done((end) => {
    const server = net.createServer();
    server.on("error", end).listen(0, "127.0.0.1", () => server.close(() => end()));
  })],
  ["http.Server.listen", "net", () => done((end) => {
    const server = http.createServer();
    server.on("error", end).listen(0, "127.0.0.1", () => server.close(() => end()));
  })],
  ["dgram.bind", "net", () => done((end) => {
    const socket = dgram.createSocket("udp4");
    socket.on("error", end).bind(0, "127.0.0.1", () => socket.close(() => end()));
  })],
  ["dns.lookup", "net", () => done((end) => dns.lookup("localhost", (error) => end(error)))],
  // Variables.
  ["process.env", "env", () => holdsSecret(process.env[SECRET])],
  ["Object.entries(process.env)", "env", () => holdsSecret(Object.entries(process.env))],
  ["process.env =", "env", () => { process.env["TABLE_OTHER"] = "1"; }],
  ["Deno.env.get", "env", () => holdsSecret(Deno.env.get(SECRET))],
  ["Deno.env.toObject", "env", () => holdsSecret(JSON.stringify(Deno.env.toObject()))],
  ["Deno.env.set", "env", () => Deno.env.set("TABLE_OTHER", "1")],
  ["Bun.env", "env", () => holdsSecret(Bun.env[SECRET])],
  ["NODE_OPTIONS", "", () => process.env["NODE_OPTIONS"]],
  // The system.
  ["os.hostname", "sys", () => os.hostname()],
  ["os.cpus", "sys", () => os.cpus()],
  ["os.totalmem", "sys", () => os.totalmem()],
  ["os.networkInterfaces", "sys", () => os.networkInterfaces()],
  ["os.release", "sys", () => os.release()],
  ["os.userInfo", "sys", () => os.userInfo()],
  ["os.loadavg", "sys", () => os.loadavg()],
  ["Deno.hostname", "sys", () => Deno.hostname()],
  ["Deno.osRelease", "sys", () => Deno.osRelease()],
  ["Deno.networkInterfaces", "sys", () => Deno.networkInterfaces()],
  ["Deno.systemMemoryInfo", "sys", () => Deno.systemMemoryInfo()],
  ["Deno.loadavg", "sys", () => Deno.loadavg()],
  // Native code.
  ["Deno.dlopen", "ffi", () => Deno.dlopen("libc.so.6", { getpid: { parameters: [], result: "i32" } }).symbols.getpid()],
  ["Deno.UnsafePointer", "ffi", () => Deno.UnsafePointer.create(1n)],
  ["process.dlopen", "ffi", () => loaded(() => process.dlopen({ exports: {} } as any, "/usr/lib/x86_64-linux-gnu/libc.so.6"))],
  ["require an addon", "ffi read", ({ seen }) => loaded(() => createRequire(import.meta.url)(`${seen}.node`))],
  ["sqlite extensions", "ffi", async () => new (await import("node:sqlite")).DatabaseSync(":memory:", { allowExtension: true })],
  // What needs nothing.
  ["crypto", "", () => crypto.randomUUID()],
  ["timers", "", () => new Promise((resolve) => setTimeout(resolve, 1))],
  ["zlib", "", () => zlib.gunzipSync(zlib.gzipSync("x"))],
  ["structuredClone", "", () => structuredClone({ a: [1] })],
  ["data URL", "", () => import(computed("data:text/javascript,export default 1"))],
  ["own text", "", async () => (await import("./permission_own.txt")).default],
  ["own code", "", async () => (await import("./permission_own.mjs")).default],
  ["own require", "", () => createRequire(import.meta.url)("./permission_own.cjs")],
  ["/dev/null", "", () => fs.readFileSync("/dev/null")],
];

// The dynamic linker refuses a file that is not an addon, but only after the permission check.
function loaded(load: () => unknown): void {
  try {
    load();
  } catch (error) {
    if (`${error}`.includes("is not permitted")) throw error;
  }
}

function thrown(result: any): any {
  if (result.error) throw result.error;
  return result;
}

// What is thrown beside a cell is what becomes of the cell.
let uncaught: (error: unknown) => void = () => {};
globalThis.addEventListener("error", (event) => {
  event.preventDefault();
  uncaught(event.error);
});
globalThis.addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  uncaught(event.reason);
});

let exec: (command: string, args: string[]) => Promise<any>;
let victim = 0;

export default (pi: any) => ({
  name: "table",
  description: "Runs every cell",
  parameters: {
    type: "object",
    properties: { port: { type: "number" }, victim: { type: "number" } },
    required: ["port", "victim"],
  },
  async execute(_id: string, args: { port: number; victim: number }) {
    exec = pi.exec;
    victim = args.victim;
    const results: unknown[] = [];
    for (const [index, [name, needs, run, effect]] of cells.entries()) {
      const id = `cell-${index}`;
      const at = {
        id,
        port: args.port,
        seen: `${pi.cwd}/elsewhere/seen.txt`,
        url: `http://127.0.0.1:${args.port}/${id}`,
        out: effect === undefined ? `${pi.cwd}/out` : `${pi.cwd}/${effect === "gone" ? "gone" : "out"}/${id}`,
      };
      let error: string | null = null;
      try {
        const thrown = new Promise((_, reject) => {
          uncaught = reject;
        });
        await Promise.race([run(at), thrown]);
      } catch (thrown: any) {
        error = `${thrown?.name}: ${thrown?.message ?? thrown}`;
      }
      results.push({ name, needs, id, effect: effect ?? null, error });
    }
    return { content: [{ type: "text", text: JSON.stringify(results) }] };
  },
});
