// Two hosts behind HAProxy with the configuration of docs/scale: any host answers any request of MCP
// 2026-07-28, sessions stay with their host, and a host that ends loses no call.
//
// The variable HAFT is the program. HAProxy must be installed: `apt-get install haproxy`.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const folder = mkdtempSync(join(tmpdir(), "haft-balancer-"));
const token = "token-of-the-balancer-test";
const running = [];
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

writeFileSync(join(folder, "token"), token, { mode: 0o600 });
writeFileSync(
  join(folder, "tools.ts"),
  `const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (pi, name, execute) =>
  ({ name, label: name, description: name, parameters: pi.zod.object({}), execute });
export default (pi) => [
  tool(pi, "who", async () => says(process.env.HOST_OF_TEST)),
  tool(pi, "slow", async (_id, _params, onUpdate) => {
    onUpdate?.(says("runs"));
    await new Promise((resolve) => setTimeout(resolve, 5000));
    return says(process.env.HOST_OF_TEST);
  }),
];
`,
);

/** Starts a host, and waits until its port is known. */
async function host(name) {
  const child = spawn(
    process.env.HAFT,
    ["--tool", join(folder, "tools.ts"), "serve", "--listen", "127.0.0.1:0"].concat([
      "--token-file",
      join(folder, "token"),
    ]),
    {
      env: {
        PATH: process.env.PATH,
        HOME: mkdtempSync(join(folder, "home-")),
        HOST_OF_TEST: name,
        HAFT_SERVE_DRAIN: "30s",
      },
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  running.push(child);
  const ended = new Promise((resolve) => child.on("exit", resolve));
  for await (const line of createInterface({ input: child.stderr })) {
    const [, port] = /^listening on http:\/\/127\.0\.0\.1:(\d+)/.exec(line) ?? [];
    if (port !== undefined) {
      child.stderr.resume();
      return { name, child, port, ended };
    }
  }
  throw new Error(`host ${name} ended before it listened`);
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Repeats `look` until it is true. */
async function until(look) {
  while (!(await look().catch(() => false))) await new Promise((go) => setTimeout(go, 50));
}

const [a, b] = [await host("a"), await host("b")];
const port = await freePort();
const config = readFileSync(join(root, "docs/scale/haproxy.cfg"), "utf8")
  .replace("127.0.0.1:4240", `127.0.0.1:${port}`)
  .replace("127.0.0.1:4238", `127.0.0.1:${a.port}`)
  .replace("127.0.0.1:4239", `127.0.0.1:${b.port}`);
writeFileSync(join(folder, "haproxy.cfg"), config);
const proxy = spawn("haproxy", ["-db", "-f", join(folder, "haproxy.cfg")], { stdio: "inherit" });
proxy.on("error", (error) => {
  console.error(`haproxy cannot be started: ${error.message}; apt-get install haproxy`);
  process.exit(1);
});
running.push(proxy);

const url = `http://127.0.0.1:${port}`;
const authorization = `Bearer ${token}`;
let lastId = 0;

/** Posts a message of MCP, and returns the response with its last message. */
async function post(method, params, headers = {}) {
  const id = ++lastId;
  const response = await fetch(`${url}/mcp`, {
    method: "POST",
    headers: {
      authorization,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: "2.0", id, method, params }),
  });
  const text = await response.text();
  assert.equal(response.status, 200, text);
  const data = text.startsWith("{") ? [text] : [...text.matchAll(/^data: ?(\{.*)$/gm)].map((m) => m[1]);
  const messages = data.map((one) => JSON.parse(one));
  return { response, message: messages.find((one) => one.id === id) };
}

const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "balancer", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** Calls a tool without a session, and returns its text. */
async function call(name) {
  const headers = {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": name,
  };
  const { message } = await post("tools/call", { name, arguments: {}, _meta: meta }, headers);
  assert.ok(message.result, JSON.stringify(message));
  return message.result.content[0].text;
}

await until(async () => (await fetch(`${url}/api/ready`)).status === 200);
for (const { port } of [a, b]) {
  await until(async () => (await fetch(`http://127.0.0.1:${port}/api/ready`)).status === 200);
}

// Requests without a session go to both.
const answered = { a: 0, b: 0 };
await until(async () => {
  answered[await call("who")]++;
  return answered.a > 5 && answered.b > 5;
});
console.log(`calls without a session: ${JSON.stringify(answered)}`);

// A session stays with the host that began it.
for (let session = 0; session < 6; session++) {
  const begun = await post("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "balancer", version: "1" },
  });
  const headers = {
    "mcp-session-id": begun.response.headers.get("mcp-session-id"),
    "mcp-protocol-version": "2025-11-25",
  };
  await fetch(`${url}/mcp`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
    body: JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" }),
  });
  const hosts = new Set();
  for (let count = 0; count < 8; count++) {
    const { message } = await post("tools/call", { name: "who", arguments: {} }, headers);
    hosts.add(message.result.content[0].text);
  }
  assert.equal(hosts.size, 1);
}
console.log("sessions stay with their host");

// A host that ends finishes what runs and loses nothing.
const slow = [call("slow"), call("slow"), call("slow"), call("slow")];
await until(async () => {
  const text = await (
    await fetch(`http://127.0.0.1:${a.port}/metrics`, { headers: { authorization } })
  ).text();
  return /^haft_calls_active [1-9]/m.test(text);
});
a.child.kill("SIGTERM");
let isEnding = true;
a.ended.then(() => {
  isEnding = false;
});
const after = [];
while (isEnding) after.push(await call("who"));
assert.equal(await a.ended, 0);
const finished = await Promise.all(slow);
assert.ok(finished.includes("a"), `${finished}`);
for (let count = 0; count < 20; count++) assert.equal(await call("who"), "b");
console.log(`${after.length} calls while a host ended, none was lost`);
process.exit(0);
