// An agent without a model: it does what its prompt says, one command a line, and speaks the stream
// of `claude --output-format stream-json`. Tools are called over MCP, through the server that its
// configuration names.
//
//     say TEXT · call TOOL JSON · told · tools · child FILE · hang · line TEXT · long BYTES
//     deaf · complain TEXT · exit CODE · fail TEXT · flood LINES

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";

const { values: told } = parseArgs({
  options: {
    "mcp-config": { type: "string" },
    "allowed-tools": { type: "string" },
    "permission-mode": { type: "string" },
    prompt: { type: "string" },
  },
});
const emit = (line) => process.stdout.write(`${JSON.stringify({ session_id: "fake-1", ...line })}\n`);
const say = (content) => emit({ type: "assistant", message: { role: "assistant", content } });
let server = null;
let turns = 0;

const prompt = told.prompt ?? readFileSync(0, "utf8");
emit({ type: "system", subtype: "init", model: "none", cwd: process.cwd() });
for (const line of prompt.split("\n").filter(Boolean)) {
  const [verb, rest = ""] = split(line);
  turns += 1;
  if (verb === "say") say([{ type: "text", text: rest }]);
  else if (verb === "told") say([{ type: "text", text: JSON.stringify({ ...told, cwd: process.cwd(), token: process.env.HAFT_SERVE_TOKEN ?? null }) }]);
  else if (verb === "config") say([{ type: "text", text: readFileSync(told["mcp-config"], "utf8") }]);
  else if (verb === "tools") say([{ type: "text", text: (await (await connected()).tools()).join(",") }]);
  else if (verb === "call") await call(...split(rest));
  else if (verb === "child") await child(rest);
  else if (verb === "hang") await new Promise(() => setInterval(() => {}, 1000));
  else if (verb === "deaf") process.on("SIGTERM", () => {});
  else if (verb === "line") process.stdout.write(`${rest}\n`);
  else if (verb === "long") process.stdout.write(`${"x".repeat(Number(rest))}\n`);
  else if (verb === "flood") for (let n = 0; n < Number(rest); n++) say([{ type: "text", text: `${n}` }]);
  else if (verb === "complain") process.stderr.write(`${rest}\n`);
  else if (verb === "exit") process.exit(Number(rest));
  else if (verb === "fail") await end({ subtype: "error_during_execution", is_error: true, result: rest });
  else throw new Error(`what is ${verb}?`);
}
await end({ subtype: "success", is_error: false, result: "all done" });

/** Says the last words and ends when all of them are out. */
function end(result) {
  emit({ type: "result", num_turns: turns, total_cost_usd: 0.25, ...result });
  return new Promise(() => process.stdout.write("", () => process.exit(result.is_error ? 1 : 0)));
}

function split(text) {
  const space = text.indexOf(" ");
  return space === -1 ? [text] : [text.slice(0, space), text.slice(space + 1)];
}

/** Calls a tool as an agent does: by its allowed name, and only if it is allowed. */
async function call(tool, text = "{}") {
  const name = `mcp__aynd-tools__${tool}`;
  const input = JSON.parse(text);
  const id = `toolu_${turns}`;
  say([{ type: "text", text: `I call ${tool}.` }, { type: "tool_use", id, name, input }]);
  const isAllowed = (told["allowed-tools"] ?? "").split(",").includes(name);
  const result = isAllowed
    ? await (await connected()).call(tool, input)
    : { content: [{ type: "text", text: "not allowed" }], isError: true };
  emit({
    type: "user",
    message: {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: id, content: result.content, is_error: result.isError === true }],
    },
  });
}

/** Leaves a process behind in a session of its own, as a careless agent does, and says its id. */
async function child(file) {
  const left = spawn("sh", ["-c", `echo $$ > '${file}'; exec sleep 600`], { stdio: ["ignore", "pipe", "ignore"] });
  await new Promise((resolve) => left.on("spawn", resolve));
  say([{ type: "text", text: `child ${left.pid}` }]);
}

async function connected() {
  server ??= await connect();
  return server;
}

async function connect() {
  const { mcpServers } = JSON.parse(readFileSync(told["mcp-config"], "utf8"));
  const { command, args, env } = mcpServers["aynd-tools"];
  const process_ = spawn(command, args, { env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "inherit"] });
  const waiting = new Map();
  createInterface({ input: process_.stdout }).on("line", (line) => {
    const message = JSON.parse(line);
    waiting.get(message.id)?.(message);
    waiting.delete(message.id);
  });
  let next = 0;
  const send = (message) => process_.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  const ask = (method, params) =>
    new Promise((resolve, reject) => {
      next += 1;
      waiting.set(next, ({ result, error }) => (error ? reject(new Error(error.message)) : resolve(result)));
      send({ id: next, method, params });
    });
  await ask("initialize", {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "fake-agent", version: "1" },
  });
  send({ method: "notifications/initialized" });
  return {
    tools: async () => (await ask("tools/list", {})).tools.map(({ name }) => name),
    call: (name, input) => ask("tools/call", { name, arguments: input }),
  };
}
