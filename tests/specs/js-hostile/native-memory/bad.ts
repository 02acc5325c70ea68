// Memory that is not V8's, filled in each of the ways there are, and loops in C.
import { readFileSync, readdirSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { MessageChannel as NodeChannel } from "node:worker_threads";

const text = (value: unknown) => ({ content: [{ type: "text", text: String(value) }] });
const block = "x".repeat(1_000_000);
const rows = (database: DatabaseSync) => {
  database.exec("CREATE TABLE t (data TEXT)");
  const insert = database.prepare("INSERT INTO t VALUES (?)");
  for (let n = 0; n < 4000; n++) insert.run(block);
};
const kept: unknown[] = [];

const tools: Record<string, () => unknown> = {
  blobs: () => { for (let n = 0; n < 4000; n++) kept.push(new Blob([block])); },
  urls: () => { for (let n = 0; n < 4000; n++) URL.createObjectURL(new Blob([block])); },
  files: () => { for (let n = 0; n < 4000; n++) kept.push(new File([block], "name")); },
  smallUrls: () => { const blob = new Blob([]); for (let n = 0; n < 4_000_000; n++) URL.createObjectURL(blob); },
  messages: () => { const { port1, port2 } = new MessageChannel(); kept.push(port2); for (let n = 0; n < 4000; n++) port1.postMessage(block); },
  nodeMessages: () => { const { port1, port2 } = new NodeChannel(); kept.push(port2); for (let n = 0; n < 4000; n++) port1.postMessage(block); },
  transferred: () => { const { port1, port2 } = new MessageChannel(); kept.push(port2); for (let n = 0; n < 4000; n++) { const { port1: other, port2: last } = new MessageChannel(); kept.push(other); port1.postMessage(block, [last]); } },
  database: () => rows(new DatabaseSync(":memory:")),
  databases: () => { for (let n = 0; n < 4000; n++) { const one = new DatabaseSync(":memory:"); kept.push(one); one.exec("CREATE TABLE t (data TEXT)"); one.prepare("INSERT INTO t VALUES (?)").run(block); } },
  value: () => { new DatabaseSync(":memory:").prepare("SELECT hex(zeroblob(400000000)) AS one").get(); },
  memory: () => { const kilobytes = Number(/VmRSS:\s*(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))![1]); return text(kilobytes < 700_000 ? "little" : `${kilobytes} kB`); },
  loop: () => { for (;;); },
  recursion: () => { new DatabaseSync(":memory:").prepare("WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t").get(); },
  threads: async () => { for (;;) { const names = readdirSync("/proc/self/task").map((id) => { try { return readFileSync(`/proc/self/task/${id}/comm`, "utf8").trim(); } catch { return ""; } }); /* A forked worker runs its isolate on the first thread. */ const isolates = names.filter((name) => name === "haft-isolate" || name === "haft-worker").length; if (isolates <= 1) return text(isolates); await new Promise((done) => setTimeout(done, 10)); } },
  reused: async () => { for (let n = 0; n < 400; n++) { const blob = new Blob([block]); await blob.slice(0, 10).text(); if (n % 10 === 0) await new Promise((done) => setTimeout(done, 1)); } return text("all collected"); },
};

export default (pi) =>
  Object.entries(tools).map(([name, execute]) => ({
    name,
    label: name,
    description: name,
    parameters: pi.zod.object({}),
    async execute() {
      const done = execute();
      return (await done) ?? text("nothing stopped it");
    },
  }));
