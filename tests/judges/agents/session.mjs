// A running agent as the judge uses it: what its user sees, what its user types, and its end.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { stripVTControlCharacters } from "node:util";

const ENDING_TIMEOUT = 5_000;
/** Running agents; they are killed when this process exits. */
const running = new Set();

process.on("exit", () => {
  for (const child of running) signalGroup(child, "SIGKILL");
});

/** A started agent. Its client says how prompts, answers and interruptions are sent. */
export class Session {
  /** Everything that the user's side has received, as text. */
  seen = "";
  #looking = new Set();
  #child;
  #ended;

  /** Starts a program whose end is this session's end. */
  start(program, args, place, env) {
    this.#child = spawn(program, args, {
      cwd: place.project,
      env: { ...place.env, ...env },
      stdio: ["pipe", "pipe", "pipe"],
      // Ended as a group: agents start servers.
      detached: true,
    });
    running.add(this.#child);
    this.#ended = new Promise((resolve) => {
      this.#child.on("error", (error) => {
        this.show(`\n[cannot start ${program}: ${error.message}]\n`);
        resolve();
      });
      this.#child.on("close", (code, signal) => {
        this.show(`\n[ended: ${signal ?? code}]\n`);
        resolve();
      });
    });
    this.#child.stdin.on("error", () => {});
    return this.#child;
  }

  show(text) {
    this.seen += text;
    for (const look of this.#looking) look();
  }

  /** Resolves when the user's side has received the text; rejects after `ms`. */
  sees(text, ms) {
    const isThere = () => this.seen.includes(text);
    if (isThere()) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const look = () => isThere() && settle(resolve);
      const settle = (end) => {
        clearTimeout(timer);
        this.#looking.delete(look);
        end();
      };
      const late = () => reject(new Error(`the user did not see "${text}" within ${ms} ms`));
      const timer = setTimeout(() => settle(late), ms);
      this.#looking.add(look);
    });
  }

  /** Waits for the end of the program; kills it after `ms`. */
  async ended(ms) {
    const timer = setTimeout(() => this.#signal("SIGKILL"), ms);
    await this.#ended;
    clearTimeout(timer);
  }

  /** Ends the agent as a closed window would. */
  async stop() {
    this.#signal("SIGTERM");
    await this.ended(ENDING_TIMEOUT);
    // What outlived its agent is in the same group.
    this.#signal("SIGKILL");
    running.delete(this.#child);
  }

  #signal(signal) {
    signalGroup(this.#child, signal);
  }
}

function signalGroup(child, signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // It is gone.
  }
}

/** A program that prints what it has to say and ends. */
export class Printing extends Session {
  constructor(program, args, place, env) {
    super();
    const child = this.start(program, args, place, env);
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text) => this.show(stripVTControlCharacters(text)));
    child.stdin.end();
  }
}

/** A program at a terminal of 160 columns, which `script` of util-linux makes. */
export class Terminal extends Session {
  #child;

  constructor(program, args, place, env) {
    super();
    const words = [program, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
    const command = `stty cols 160 rows 50; exec ${words}`;
    this.#child = this.start("script", ["-qfec", command, "/dev/null"], place, {
      TERM: "xterm-256color",
      ...env,
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.setEncoding("utf8").on("data", (text) => this.show(stripVTControlCharacters(text)));
  }

  type(keys) {
    this.#child.stdin.write(keys);
  }
}

/** A program that speaks JSON-RPC, a message a line. */
export class Rpc extends Session {
  #child;
  #calls = new Map();
  #last = 0;
  /** Receives every request and notification of the other side. */
  onMessage = () => {};

  constructor(program, args, place, env) {
    super();
    this.#child = this.start(program, args, place, env);
    createInterface({ input: this.#child.stdout }).on("line", (line) => {
      this.show(`${line}\n`);
      const message = JSON.parse(line);
      if (message.method) this.onMessage(message);
      else this.#calls.get(message.id)?.(message);
    });
    this.#child.stderr.resume();
  }

  call(method, params) {
    const id = ++this.#last;
    this.send({ id, method, params });
    return new Promise((resolve, reject) => {
      this.#calls.set(id, ({ result, error }) =>
        error ? reject(new Error(`${method}: ${error.message}`)) : resolve(result),
      );
    });
  }

  send(message) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }
}
