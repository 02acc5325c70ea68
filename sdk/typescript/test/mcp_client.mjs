// A program that is an MCP server, and its client.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { atEnd, place, TOOLS } from "./harness.mjs";

/** An MCP client of a program on its standard streams. */
class McpClient {
  #child;
  #lastId = 0;
  #waiting = new Map();
  asked = [];

  constructor(child) {
    this.#child = child;
    createInterface({ input: child.stdout }).on("line", (line) => {
      const message = JSON.parse(line);
      if (message.method === "elicitation/create") {
        this.asked.push(message.params.message);
        this.#send({ id: message.id, result: { action: "accept", content: { confirmed: true } } });
      } else if (message.id !== undefined) this.#waiting.get(message.id)?.(message);
    });
  }

  #send(message) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }

  request(method, params) {
    const id = ++this.#lastId;
    this.#send({ id, method, params });
    return new Promise((resolve) => this.#waiting.set(id, (message) => resolve(message.result)));
  }

  async initialize() {
    await this.request("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: { elicitation: {} },
      clientInfo: { name: "test", version: "1" },
    });
    this.#send({ method: "notifications/initialized" });
  }
}

const SERVER = fileURLToPath(new URL("./programs/server.mjs", import.meta.url));

/** Starts a program with a runtime and connects a client. */
export function startServer(t, runtime = [process.execPath], program = SERVER) {
  const { cwd, env } = place(t);
  const [command, ...args] = [...runtime, program, TOOLS];
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env, HAFT_BINARY: process.env.HAFT_BINARY },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  // Its haft writes into the home until the program has ended: a kill would not wait for that.
  atEnd(t, async () => {
    child.stdin.end();
    await exited;
  });
  return { child, client: new McpClient(child) };
}
