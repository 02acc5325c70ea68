// Drives an MCP server over its pipes, the same way whatever serves, and prints microseconds:
//   list TOOLS COMMAND…              from the start of the process to its list of so many tools
//   cancel COMMAND…                  from the cancellation of `wait` to what its AbortSignal sets off
//   wall COMMAND…                    the whole life of a process
import { spawn } from "node:child_process";

const [what, ...rest] = process.argv.slice(2);
const now = () => performance.now() * 1000;

function start(command) {
  const [program, ...args] = command;
  const began = now();
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "ignore"] });
  const waiting = new Map();
  let rest = "";
  child.stdout.setEncoding("utf8");
  child.stdout.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const message = JSON.parse(line);
      const key = message.id ?? message.method;
      waiting.get(key)?.(message);
      waiting.delete(key);
    }
  });
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const until = (key) => new Promise((resolve) => waiting.set(key, resolve));
  let ids = 0;
  const ask = (method, params) => {
    const id = ++ids;
    const answer = until(id);
    send({ id, method, params });
    return answer;
  };
  const begin = async () => {
    await ask("initialize", {
      protocolVersion: "2025-06-18",
      capabilities: {},
      clientInfo: { name: "bench", version: "1" },
    });
    send({ method: "notifications/initialized" });
  };
  const next = () => ids + 1;
  return { child, began, send, until, ask, begin, next };
}

const median = (numbers) => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)];

if (what === "wall") {
  const [program, ...args] = rest;
  const began = now();
  await new Promise((resolve) => spawn(program, args, { stdio: "ignore" }).on("exit", resolve));
  console.log((now() - began).toFixed(1));
} else if (what === "list") {
  const [tools, ...command] = rest;
  const server = start(command);
  await server.begin();
  const { result } = await server.ask("tools/list", {});
  const took = now() - server.began;
  if (result.tools.length !== Number(tools)) throw new Error(`${result.tools.length} tools`);
  console.log(took.toFixed(1));
  server.child.kill();
} else if (what === "cancel") {
  const server = start(rest);
  await server.begin();
  const took = [];
  for (let run = 0; run < 20; run++) {
    const running = server.until("notifications/progress");
    const id = server.next();
    server.ask("tools/call", { name: "wait", arguments: {}, _meta: { progressToken: id } });
    await running;
    // Answered by the listener of the signal.
    const heard = server.ask("tools/call", { name: "heard", arguments: {} });
    await server.ask("tools/call", { name: "echo", arguments: { text: "there" } });
    const began = now();
    server.send({ method: "notifications/cancelled", params: { requestId: id } });
    await heard;
    took.push(now() - began);
  }
  console.log(median(took).toFixed(1));
  server.child.kill();
}
process.exit(0);
