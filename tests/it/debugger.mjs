// A debugger that does what VS Code does, and writes what it sees as lines of JSON.
//
// Arguments: the server's address, the tool's file, a line of it, and the milliseconds to pause there.

import { SourceMap } from "node:module";
import { pathToFileURL } from "node:url";

const [address, file, line, pause] = process.argv.slice(2);
const url = pathToFileURL(file).href;
const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

/** Returns the list of isolates once there is one with a module. */
async function isolates() {
  for (;;) {
    const list = await (await fetch(`http://${address}/json/list`)).json();
    if (list.some((isolate) => isolate.url)) return list;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** A session: requests, and the events that have come so far. */
class Session {
  #socket;
  #last = 0;
  #answers = new Map();
  #events = [];
  #waiting = [];

  constructor(socket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const message = JSON.parse(data);
      if (message.id === undefined) {
        this.#events.push(message);
      } else {
        this.#answers.get(message.id)(message);
      }
      this.#waiting = this.#waiting.filter((look) => !look());
    });
  }

  static async open(url) {
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve);
      socket.addEventListener("error", reject);
    });
    return new Session(socket);
  }

  async ask(method, params = {}) {
    const id = ++this.#last;
    const answered = new Promise((resolve) => this.#answers.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { result, error } = await answered;
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  /** Takes the first event of that name that fits. */
  event(method, fits = () => true) {
    return new Promise((resolve) => {
      const look = () => {
        const at = this.#events.findIndex((event) => event.method === method && fits(event.params));
        if (at < 0) return false;
        resolve(this.#events.splice(at, 1)[0].params);
        return true;
      };
      if (!look()) this.#waiting.push(look);
    });
  }

  close() {
    this.#socket.close();
  }
}

/** Returns the place in the TypeScript file of a place in the script. Both begin with zero. */
function source(map, { lineNumber, columnNumber }) {
  const entry = map.findEntry(lineNumber, columnNumber);
  return { file: entry.originalSource, line: entry.originalLine + 1 };
}

/** Returns the first place in the script that was compiled from that line of the TypeScript file. */
function compiled(map, script, line) {
  for (let lineNumber = 0; lineNumber <= script.endLine; lineNumber++) {
    for (let columnNumber = 0; columnNumber < 200; columnNumber++) {
      const entry = map.findEntry(lineNumber, columnNumber);
      if (entry.originalLine === line - 1 && entry.generatedLine === lineNumber) {
        return { lineNumber, columnNumber };
      }
    }
  }
  throw new Error(`no code comes from line ${line}`);
}

const list = await isolates();
print({ titles: list.map(({ title }) => title), own: list[0].url === url });
const session = await Session.open(list[0].webSocketDebuggerUrl);
await session.ask("Runtime.enable");
await session.ask("Debugger.enable");
await session.ask("NodeRuntime.enable");
await session.event("NodeRuntime.waitingForDebugger");
await session.ask("Runtime.runIfWaitingForDebugger");

const first = await session.event("Debugger.paused");
const script = await session.event("Debugger.scriptParsed", (script) => script.url === url);
const encoded = script.sourceMapURL.slice(script.sourceMapURL.indexOf(",") + 1);
const map = new SourceMap(JSON.parse(Buffer.from(encoded, "base64").toString()));
print({ broke: first.callFrames[0].location.scriptId === script.scriptId });

const { scriptId } = script;
const place = compiled(map, script, Number(line));
await session.ask("Debugger.setBreakpoint", { location: { scriptId, ...place } });
await session.ask("Debugger.resume");
const paused = await session.event("Debugger.paused");
const frame = paused.callFrames[0];
const at = source(map, frame.location);
print({ function: frame.functionName, line: at.line, own: at.file === url });

const evaluate = async (method, params) => (await session.ask(method, params)).result.value;
const callFrameId = frame.callFrameId;
print({
  global: await evaluate("Runtime.evaluate", { expression: "6 * 7" }),
  local: await evaluate("Debugger.evaluateOnCallFrame", { callFrameId, expression: "text" }),
});
if (pause !== "leave") {
  await new Promise((resolve) => setTimeout(resolve, Number(pause)));
  await session.ask("Debugger.evaluateOnCallFrame", {
    callFrameId,
    expression: "text = 'changed'",
  });
  await session.ask("Debugger.resume");
  session.close();
} else {
  print({ stays: true });
}
