// A model API on the loopback interface that plays scripts and records every request.
//
// A prompt names a script (`script:NAME`); the script is a list of steps, and the step of an answer is the number
// of tool results that stand after the prompt. So an answer depends on nothing but its request: a client may
// repeat requests, and many clients may use one server.
//
// A step is one of
//   {call: "tool", arguments: {…}}   calls the tool that the client offers under a name that ends with it;
//                                    a function makes the arguments from what the client offers
//   {say: "text"}                    ends the turn
// After the last step, and to requests without a script (titles, summaries), the answer is "Done.".

import { createServer } from "node:http";

import * as anthropic from "./anthropic.mjs";
import * as gemini from "./gemini.mjs";
import * as responses from "./responses.mjs";

const DIALECTS = [anthropic, responses, gemini];
const MAX_BODY = 64 * 1024 * 1024;

export class FakeApi {
  /** Every request to a model, in the order of arrival. See `Turn` in `turn.mjs`. */
  turns = [];
  /** Requests that no dialect knows, as "METHOD path". */
  unknown = [];
  #scripts = new Map();
  #waiting = new Set();
  #server;

  static async start() {
    const api = new FakeApi();
    api.#server = createServer((request, response) => {
      api.#serve(request, response).catch((error) => {
        response.writeHead(500, { "content-type": "application/json" });
        response.end(JSON.stringify({ error: { type: "api_error", message: String(error) } }));
      });
    });
    await new Promise((resolve) => api.#server.listen(0, "127.0.0.1", resolve));
    return api;
  }

  /** The address of one run, which separates its requests from those of other runs. */
  url(run) {
    return `http://127.0.0.1:${this.#server.address().port}/${run}`;
  }

  /** Makes a script known; `prompt(name)` is the prompt that plays it. */
  script(name, steps) {
    this.#scripts.set(name, steps);
  }

  /** The requests of one run that play this script. Requests without tools ask for titles and summaries. */
  of(run, script) {
    const isOne = (turn) => turn.run === run && turn.script === script && turn.tools.length > 0;
    return this.turns.filter(isOne);
  }

  /** Resolves as soon as `find` gives something for what was recorded; rejects after `ms`. */
  async until(find, ms, what) {
    const found = find();
    if (found) return found;
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = find();
        if (found) done(() => resolve(found));
      };
      const timer = setTimeout(
        () => done(() => reject(new Error(`${what}: not within ${ms} ms`))),
        ms,
      );
      const done = (settle) => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        settle();
      };
      this.#waiting.add(look);
    });
  }

  async stop() {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request, response) {
    const url = new URL(request.url, "http://localhost");
    const [, run, ...rest] = url.pathname.split("/");
    const path = `/${rest.join("/")}`;
    const text = await body(request);
    const dialect = DIALECTS.find((dialect) => dialect.serves(request.method, path));
    if (!dialect) {
      const other = DIALECTS.map((dialect) => dialect.other(request.method, path)).find(Boolean);
      if (!other) this.unknown.push(`${request.method} ${path}`);
      response.writeHead(other ? 200 : 404, { "content-type": "application/json" });
      const missing = {
        error: { type: "not_found_error", message: "the fake API has no such path" },
      };
      response.end(JSON.stringify(other ?? missing));
      return;
    }
    const raw = JSON.parse(text);
    const turn = { run, at: Date.now(), dialect: dialect.name, ...dialect.read(raw, path), raw };
    this.turns.push(turn);
    for (const look of this.#waiting) look();
    dialect.answer(response, turn, this.#answerTo(turn));
  }

  #answerTo(turn) {
    const steps = this.#scripts.get(turn.script) ?? [];
    const step = steps[turn.results.length] ?? { say: "Done." };
    // Clients merge answers of one id.
    const id = `${turn.script ?? "side"}_${this.turns.length}`;
    if (step.say !== undefined) return { ...step, id };
    const tool = turn.tools.find(({ name }) => isNamed(name, step.call));
    if (!tool) return { say: `There is no tool ${step.call}. ${last(steps)}`, id };
    const given = step.arguments ?? {};
    return { call: tool, arguments: typeof given === "function" ? given(tool) : given, id };
  }
}

/** The last message of a script. */
const last = (steps) => steps.findLast(({ say }) => say)?.say ?? "Done.";

/** The prompt that plays a script. */
export const prompt = (script) => `Play script:${script} now.`;

/** Returns true if a client's name for a tool means ours: clients put the server's name in front. */
export const isNamed = (offered, name) =>
  offered === name || new RegExp(`[_.]${name}$`).test(offered);

async function body(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > MAX_BODY) throw new Error("the request is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
