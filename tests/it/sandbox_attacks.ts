// Attempts of a tool to leave the sandbox of the profile `workspace`, by every API that reaches outside. Each returns
// what it got, or throws. The test runs all of them in the sandbox, where each must throw, and without any limit,
// where each must work: so an attempt that can never work is not a proof.

import * as childProcess from "node:child_process";
import * as dns from "node:dns";
import * as fs from "node:fs";
import * as http from "node:http";
import { createRequire } from "node:module";
import * as net from "node:net";

const { Deno } = (0, eval)("({ Deno })");
const require = createRequire(import.meta.url);

// What is outside: a file, a folder, a TCP port, a UDP port, a socket by path, a process.
type Outside = { file: string; folder: string; tcp: number; udp: number; socket: string; pid: number; dir: string; cache: string };
type Attempt = [name: string, run: (out: Outside) => unknown];

const done = (start: (end: (error?: unknown) => void) => void) =>
  new Promise<void>((resolve, reject) => start((error) => (error ? reject(error) : resolve())));

const sh = (script: string, ...args: string[]) =>
  childProcess.execFileSync("sh", ["-c", script, "sh", ...args], { stdio: ["ignore", "pipe", "pipe"] }).toString();

const perl = (script: string, ...args: string[]) =>
  childProcess.execFileSync("perl", ["-e", script, ...args], { stdio: ["ignore", "pipe", "pipe"] }).toString();

const connected = (options: any) =>
  done((end) => {
    const socket = net.connect(options, () => {
      socket.destroy();
      end();
    });
    socket.on("error", end);
  });

const linked = (dir: string, file: string, name: string) => {
  const link = `${dir}/${name}`;
  fs.rmSync(link, { force: true });
  fs.symlinkSync(file, link);
  return link;
};

const ATTEMPTS: Attempt[] = [
  ["fs.readFileSync", ({ file }) => fs.readFileSync(file, "utf8")],
  ["fs.promises.readFile", ({ file }) => fs.promises.readFile(file, "utf8")],
  ["fs.openSync", ({ file }) => fs.closeSync(fs.openSync(file, "r"))],
  ["fs.createReadStream", ({ file }) => done((end) => fs.createReadStream(file).on("error", end).on("data", () => end()))],
  ["fs.readdirSync", ({ folder }) => fs.readdirSync(folder)],
  ["fs.copyFileSync from outside", ({ file, dir }) => fs.copyFileSync(file, `${dir}/copied`)],
  ["fs.linkSync from outside", ({ file, dir }) => fs.linkSync(file, `${dir}/linked-${Date.now()}`)],
  ["a symbolic link of ours", ({ file, dir }) => fs.readFileSync(linked(dir, file, "link"), "utf8")],
  ["a path with ..", ({ file, dir }) => fs.readFileSync(`${dir}/../../../../../../../../../../..${file}`, "utf8")],
  ["fs.writeFileSync", ({ folder }) => fs.writeFileSync(`${folder}/made`, "x")],
  ["fs.writeFileSync into the compiled code of others", ({ cache }) => fs.writeFileSync(`${cache}/compiled/made`, "x")],
  ["a program that changes compiled code", ({ cache }) => sh(`for folder in "$1"/*; do echo x > "$folder/by-program" && exit; done; exit 1`, cache)],
  ["compiled code of others", ({ cache }) => fs.readFileSync(`${cache}/compiled/entry`)],
  ["the list of compiled code", ({ cache }) => fs.readdirSync(`${cache}/sandboxed`)],
  ["fs.appendFileSync", ({ file }) => fs.appendFileSync(file, "x")],
  ["fs.truncateSync", ({ folder }) => fs.truncateSync(`${folder}/long`, 1)],
  ["fs.mkdirSync", ({ folder }) => fs.mkdirSync(`${folder}/d${Date.now()}`)],
  ["fs.renameSync to outside", ({ folder, dir }) => {
    fs.writeFileSync(`${dir}/moves`, "x");
    fs.renameSync(`${dir}/moves`, `${folder}/moved`);
  }],
  ["fs.unlinkSync", ({ folder }) => fs.unlinkSync(`${folder}/removed`)],
  ["fs.symlinkSync outside", ({ folder }) => fs.symlinkSync("/", `${folder}/s${Date.now()}`)],
  ["import of text", ({ file }) => import(`file://${file}`, { with: { type: "text" } } as any)],
  ["import of JSON", ({ folder }) => import(`file://${folder}/data.json`, { with: { type: "json" } } as any)],
  ["import of code", ({ folder }) => import(`file://${folder}/code.mjs`)],
  ["require", ({ folder }) => require(`${folder}/code.cjs`)],
  ["Deno.readTextFileSync", ({ file }) => Deno.readTextFileSync(file)],
  ["fetch of a file", async ({ file }) => (await fetch(`file://${file}`)).text()],
  ["fetch", async ({ tcp }) => (await fetch(`http://127.0.0.1:${tcp}/`)).text()],
  ["http.get", ({ tcp }) => done((end) => http.get({ host: "127.0.0.1", port: tcp }, (answer) => { answer.resume(); end(); }).on("error", end))],
  ["net.connect", ({ tcp }) => connected({ host: "127.0.0.1", port: tcp })],
  ["net.connect to a path", ({ socket }) => connected({ path: socket })],
  ["Deno.connect", async ({ tcp }) => (await Deno.connect({ hostname: "127.0.0.1", port: tcp })).close()],
  ["Deno.listen", () => Deno.listen({ hostname: "127.0.0.1", port: 0 }).close()],
  ["Deno.connect by TLS", async ({ tcp }) => { try { (await Deno.connectTls({ hostname: "127.0.0.1", port: tcp })).close(); } catch (error) { if (!/tls|certificate|corrupt|record|message|eof|closed/i.test(String(error))) throw error; } }],
  ["dns.lookup", () => done((end) => dns.lookup("localhost", (error) => end(error)))],
  ["WebSocket", ({ tcp }) => done((end) => { const socket = new WebSocket(`ws://127.0.0.1:${tcp}/ws`); socket.onopen = () => { socket.close(); end(); }; socket.onerror = (event: any) => end(new Error(event.message || "refused")); })],
  ["process.kill", ({ pid }) => process.kill(pid, "SIGURG")],
  ["Deno.kill", ({ pid }) => Deno.kill(pid, "SIGURG")],
  ["Deno.dlopen", () => Deno.dlopen("libc.so.6", { getpid: { parameters: [], result: "i32" } }).symbols.getpid()],
  ["a secret variable", () => { if (process.env.ATTACK_SECRET !== "token") throw new Error("hidden"); }],
  ["variables of our own process", () => { if (!fs.readFileSync("/proc/self/environ", "utf8").includes("ATTACK_SECRET")) throw new Error("hidden"); }],
  ["a program reads", ({ file }) => sh('cat "$1"', file)],
  ["a program lists", ({ folder }) => sh('ls "$1"', folder)],
  ["a program writes", ({ folder }) => sh('echo x > "$1/by-program"', folder)],
  ["a program appends by a link", ({ file, dir }) => sh('echo x >> "$1"', linked(dir, file, "append"))],
  ["a program truncates", ({ folder }) => sh(': > "$1/long2"', folder)],
  ["a program removes", ({ folder }) => sh('rm "$1/removed2"', folder)],
  ["a program makes a folder", ({ folder }) => sh('mkdir "$1/sub$$"', folder)],
  ["a program links", ({ file, dir }) => sh('ln "$1" "$2/hard$$"', file, dir)],
  ["a program runs a file from outside", ({ folder }) => sh('. "$1/script"', folder)],
  ["a program reads variables of the tests", ({ pid }) => sh('head -c 1 "/proc/$1/environ" | grep -q . ', String(pid))],
  ["fs.opendirSync", ({ folder }) => fs.opendirSync(folder).closeSync()],
  ["fs.cpSync from outside", ({ file, dir }) => fs.cpSync(file, `${dir}/copied-again`)],
  ["a program sends a signal", ({ pid }) => sh('kill -URG "$1"', String(pid))],
  ["a program changes a priority", ({ pid }) => sh('renice -n 1 -p "$1"', String(pid))],
  ["a program changes processors", ({ pid }) => sh('taskset -p "$(taskset -p "$1" | sed "s/.*: //")" "$1"', String(pid))],
  ["a program connects", ({ tcp }) => perl('use IO::Socket::INET; IO::Socket::INET->new(PeerAddr => "127.0.0.1:$ARGV[0]") or die "no: $@"', String(tcp))],
  ["a program listens", () => perl('use IO::Socket::INET; IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die "no: $@"')],
  ["a program sends a datagram", ({ udp }) => perl('use IO::Socket::INET; my $s = IO::Socket::INET->new(Proto => "udp", PeerAddr => "127.0.0.1:$ARGV[0]") or die "no: $@"; $s->send("x") or die "no: $!"', String(udp))],
  ["a program connects to a path", ({ socket }) => perl('use IO::Socket::UNIX; IO::Socket::UNIX->new(Peer => $ARGV[0]) or die "no: $!"', socket)],
  ["a program sees a secret variable", () => sh('test "$ATTACK_SECRET" = token')],
  ["pi.exec reads", async ({ file }, ) => { const ran = await PI.exec("cat", [file]); if (ran.code !== 0) throw new Error(ran.stderr); }],
  ["pi.exec writes", async ({ folder }) => { const ran = await PI.exec("touch", [`${folder}/by-exec`]); if (ran.code !== 0) throw new Error(ran.stderr); }],
  ["Bun.spawn reads", ({ file }) => { const ran = (globalThis as any).Bun.spawnSync(["cat", file]); if (ran.exitCode !== 0) throw new Error(String(ran.stderr)); }],
  ["Deno.Command reads", ({ file }) => { const ran = new Deno.Command("cat", { args: [file] }).outputSync(); if (!ran.success) throw new Error("refused"); }],
  ["a program that is left behind", ({ folder }) => sh('(setsid sh -c "echo x > \\"$1/late\\"") && test -e "$1/late"', folder)],
  ["process.dlopen", () => {
    const folders = ["/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib"];
    const library = folders.map((folder) => `${folder}/libc.so.6`).find((path) => fs.existsSync(path));
    try {
      process.dlopen({ exports: {} } as any, library ?? "");
    } catch (error) {
      // The library was loaded, and is not an add-on.
      if (!/register|napi|symbol/i.test(String(error))) throw error;
    }
  }],
  ["an SSH agent", ({ socket }) => sh('SSH_AUTH_SOCK="$1" perl -e \'use IO::Socket::UNIX; IO::Socket::UNIX->new(Peer => $ENV{SSH_AUTH_SOCK}) or die "no: $!"\'', socket)],
  ["a program lists the memory of the tests", ({ pid }) => sh('head -c 1 "/proc/$1/maps" | grep -q .', String(pid))],
  ["a program mounts in a namespace of its own", () => sh("unshare --user --map-root-user --mount mount -t tmpfs none /mnt")],
  ["the private folder of others", ({ dir }) => fs.writeFileSync(`${dir}/../beside`, "x")],
];

let PI: any;
export default (pi: any) => {
  PI = pi;
  return {
    name: "attacks",
    label: "attacks",
    description: "tries to leave the sandbox",
    parameters: pi.zod.object({ outside: pi.zod.any() }),
    execute: async (_id: string, { outside }: { outside: Outside }) => {
      const results: [string, string][] = [];
      for (const [name, run] of ATTEMPTS) {
        try {
          await run(outside);
          results.push([name, "works"]);
        } catch (error) {
          results.push([name, `refused: ${`${(error as any)?.message ?? error}`.split("\n")[0]}`]);
        }
      }
      return { content: [{ type: "text", text: JSON.stringify(results) }] };
    },
  };
};
