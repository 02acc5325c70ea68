// One run of one agent in a place of its own: prompts that play scripts, and waiting for what they lead to.

import { existsSync, readFileSync } from "node:fs";

import { isNamed, prompt } from "./api/server.mjs";
import { Place, TOOLS } from "./place.mjs";

/** Timeout of a check in milliseconds, beyond any time on a busy machine, apart from the tools' waits. */
const PATIENCE = 60_000;
/** Timeout of a check that is known to fail. */
const LIMIT_PATIENCE = 10_000;
/** Timeout for the end of a turn whose last answer is on its way. */
const SETTLING = 10_000;
const LOOKING = 100;
const INSISTING = 1_500;
const MAX_GREETINGS = 10;

export class Run {
  constructor({ client, path, api, haft, instructions, name, config, byCommands }) {
    this.client = client;
    this.path = path;
    this.api = api;
    this.name = name;
    /** The instructions that haft sends to clients. */
    this.instructions = instructions;
    this.place = new Place(name, api.url(name));
    client.prepare(this.place);
    if (config) this.place.write(".config/haft/config.yaml", config);
    if (byCommands) client.offerByCommands(this.place, haft, TOOLS);
    else this.place.configure(haft, client.id);
  }

  #patience = PATIENCE;

  /** Says whether the next check is known to fail. */
  expects(isLimit) {
    this.#patience = isLimit ? LIMIT_PATIENCE : PATIENCE;
  }

  /** Does something once and gives what it gave to all that ask for it. */
  once(name, work) {
    if (!this.#done.has(name)) this.#done.set(name, work());
    return this.#done.get(name);
  }
  #done = new Map();

  /** Starts the agent for one prompt, for which the model calls a tool, and waits for its end; gives the first request. */
  first(tool = "judge_say", args = { text: "hello" }) {
    return this.once("first", () => this.#first(tool, args));
  }

  /** The result of the call that `first` made. */
  async firstResult() {
    const turn = await this.#turn("once", ({ results }) => results.length > 0, "the tool's result");
    return turn.results[0];
  }

  async #first(tool, args) {
    this.#script("once", tool, args);
    this.session = this.client.once(this.path, this.place, prompt("once"));
    const turn = await this.#turn("once", () => true, "the first request");
    await this.session.ended(PATIENCE);
    return turn;
  }

  /** Starts the agent, and waits until it has the tools: a user may be faster than its servers. */
  async open() {
    this.session = await this.client.open(this.path, this.place, PATIENCE);
    for (let turn = 1; turn <= MAX_GREETINGS; turn += 1)
      if (await this.play(`hello-${turn}`, "judge_say", { text: "hello" })) return;
    throw new Error(`none of ${MAX_GREETINGS} requests has the tools`);
  }

  /** Lets the model call a tool once; gives the result that reaches it, none if it was not offered the tool. */
  async play(script, tool, args) {
    const result = await this.start(script, tool, args);
    await this.session.sees(`end of ${script}`, PATIENCE);
    return result;
  }

  /** The same without waiting for the end of the turn. */
  async start(script, tool, args) {
    const turn = await this.begin(script, tool, args);
    if (!turn.tools.some(({ name }) => isNamed(name, tool))) return undefined;
    const after = await this.#turn(
      script,
      ({ results }) => results.length > 0,
      "the tool's result",
    );
    return after.results[0];
  }

  /** Sends the prompt and waits until the model is asked; gives the request. */
  async begin(script, tool, args) {
    this.#script(script, tool, args);
    await this.session.submit(prompt(script));
    return this.insist(this.#turn(script, () => true, "the request to the model"));
  }

  /** Waits for what a key leads to, and presses it again: a terminal interface drops keys that come too soon. */
  async insist(waiting) {
    const timer = setInterval(() => this.session.enter?.(), INSISTING);
    return waiting.finally(() => clearInterval(timer));
  }

  /** A call that may go on in the background: waits for its end wherever it is reported. */
  async playLong(script, tool, args) {
    await this.begin(script, tool, args);
    const text = `worked for ${args.seconds} seconds`;
    const isDone = ({ results, later }) =>
      results.some((result) => result.text.includes(text)) ||
      later.some((one) => one.includes(text));
    const ms = args.seconds * 1000 + PATIENCE;
    return this.#turn(script, isDone, "the tool's result", ms).catch((error) => {
      const last = this.api.of(this.name, script).at(-1);
      throw new Error(last.results[0]?.text ?? error.message);
    });
  }

  /** Waits until the user has received a text. */
  person(text) {
    return this.session.sees(text, this.#patience);
  }

  /** Waits for the end of a script's turn, and interrupts it if it does not come. */
  async settle(script) {
    await this.session.sees(`end of ${script}`, SETTLING).catch(() => this.session.interrupt());
  }

  /** Waits until a file holds a text; gives all of it. */
  async written(file, text) {
    const read = () => (existsSync(file) ? readFileSync(file, "utf8") : "");
    await until(() => read().includes(text), this.#patience, `"${text.trim()}" in the tool's log`);
    return read();
  }

  /** Waits until a process has ended. */
  async gone(pid, what) {
    await until(() => !isRunning(pid), this.#patience, `the end of ${what}`);
  }

  async close() {
    await this.session?.stop();
    this.place.remove();
  }

  #script(name, call, args) {
    this.api.script(name, [{ call, arguments: args }, { say: `end of ${name}` }]);
  }

  #turn(script, isIt, what, ms = PATIENCE) {
    return this.api.until(() => this.api.of(this.name, script).find(isIt), ms, what);
  }
}

/** Polls, since a process or a file does not report its change. */
async function until(isSo, ms, what) {
  const deadline = Date.now() + ms;
  while (!isSo()) {
    if (Date.now() > deadline) throw new Error(`${what}: not within ${ms} ms`);
    await new Promise((resolve) => setTimeout(resolve, LOOKING));
  }
}

function isRunning(pid) {
  try {
    // A process that only waits to be reaped has ended.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}
