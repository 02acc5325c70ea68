// What the dialects have in common: a request as the checks see it.

/**
 * @typedef {object} Result
 * @property {string} text the text that the model gets for a call
 * @property {string[]} images the types of the pictures that it gets with it
 * @property {boolean} isError whether the dialect marks it as failed
 *
 * @typedef {object} Turn
 * @property {string} system the system prompt, and messages of the system
 * @property {{name: string, description: string, schema: object, group?: string, about?: string}[]} tools
 *   what the model may call; `group` and `about` are the name and description of a namespace
 * @property {string | undefined} script the script that the last prompt names
 * @property {Result[]} results what came back for calls since that prompt
 * @property {string[]} later what the user's side said since that prompt, apart from results
 * @property {boolean} streams whether the client asked for a stream of events
 * @property {object} raw the whole body
 */

const SCRIPT = /script:([\w-]+)/g;

/** The script that a text names last. */
export const scriptIn = (text) => [...text.matchAll(SCRIPT)].at(-1)?.[1];

/** Collects prompts and results in the order of the conversation. */
export class Conversation {
  system = [];
  script;
  results = [];
  later = [];

  /** A text of the user's side. */
  user(text) {
    const script = scriptIn(text);
    if (!script) {
      this.later.push(text);
      return;
    }
    // The same script again is the same prompt in other words, unless calls lie between.
    this.script = script;
    this.results = [];
    this.later = [];
  }

  turn() {
    const { system, script, results, later } = this;
    return { system: system.join("\n"), script, results, later };
  }
}

/** Writes server-sent events: `[event name or undefined, data]` each. */
export function stream(response, events) {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  for (const [name, data] of events) {
    if (name) response.write(`event: ${name}\n`);
    response.write(`data: ${JSON.stringify(data)}\n\n`);
  }
  response.end();
}

export function json(response, data) {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(data));
}
