// Memory that is not V8's, filled in each of the ways there are, and loops in C.
import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const text = (value: unknown) => ({ content: [{ type: "text", text: String(value) }] });
const block = "x".repeat(1_000_000);
const rows = (database: DatabaseSync) => {
  database.exec("CREATE TABLE t (data TEXT)");
  const insert = database.prepare("INSERT INTO t VALUES (?)");
  for (let n = 0; n < 4000; n++) insert.run(block);
};
const memory = () => Number(/RssAnon:\s*(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))![1]);
const kept: unknown[] = [];

const tools: Record<string, () => unknown> = {
  blobs: () => { for (let n = 0; n < 4000; n++) kept.push(new Blob([block])); },
  messages: () => { const { port1, port2 } = new MessageChannel(); kept.push(port2); for (let n = 0; n < 4000; n++) port1.postMessage(block); },
  database: () => rows(new DatabaseSync(":memory:")),
  value: () => { new DatabaseSync(":memory:").prepare("SELECT hex(zeroblob(400000000)) AS one").get(); },
  recursion: () => { new DatabaseSync(":memory:").prepare("WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT count(*) FROM t").get(); },
  reused: async () => { for (let n = 0; n < 400; n++) { const blob = new Blob([block]); await blob.slice(0, 10).text(); if (n % 10 === 0) await new Promise((done) => setTimeout(done, 1)); } return text(memory() < 400_000 ? "all collected" : `${memory()} kB`); },
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
