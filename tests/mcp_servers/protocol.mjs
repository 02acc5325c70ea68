// An MCP server without dependencies, on any connection, for clients of both protocol variants: up
// to 2025-11-25 (`initialize`, requests of the server to the client) and 2026-07-28 (no
// connection state, `server/discover`, questions as results).
//
// `serve` takes the features of a server (tools, prompts, resources …, see `features.mjs`) and
// returns what handles the messages of one connection.

import { createHmac, randomUUID } from "node:crypto";

export const MODERN = "2026-07-28";
export const OLDER = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
export const TASKS = "io.modelcontextprotocol/tasks";
const META = "io.modelcontextprotocol/";

export const CODE = {
  unknownMethod: -32601,
  invalidParams: -32602,
  internal: -32603,
  resourceNotFound: -32002,
  urlRequired: -32042,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
};

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
// A client of 2026-07-28 may keep a list or a resource for so long.
const FRESH = { ttlMs: 60_000, cacheScope: "private" };
const LISTS = ["tools", "prompts", "resources"];

/** An error that becomes a JSON-RPC error. */
export class Failure extends Error {
  constructor(code, message, data) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export const unknownMethod = (method) => new Failure(CODE.unknownMethod, `no method ${method}`);

/** Signals that the call waits for answers of the client (2026-07-28). */
class InputRequired {
  constructor(requests, answers) {
    this.requests = requests;
    this.answers = answers;
  }
}

/** The state of one server, which its connections share. */
export class Server {
  constructor(features) {
    this.features = features;
    this.connections = new Set();
    this.tasks = new Map();
    // Proves that a client returned a state unchanged.
    this.secret = randomUUID();
  }

  /** Sends a notification to the connections that want it. */
  announce(method, params = {}) {
    for (const connection of this.connections) connection.announce(method, params);
  }

  /** Announces a change of `tools`, `prompts` or `resources`. */
  changed(list) {
    this.announce(`notifications/${list}/list_changed`);
  }

  /** Returns the state of a call as text, with the answers that it has. */
  seal(answers) {
    const text = Buffer.from(JSON.stringify(answers)).toString("base64url");
    return `${text}.${this.#sign(text)}`;
  }

  open(state) {
    const [text, signature] = String(state).split(".");
    if (signature !== this.#sign(text)) throw new Failure(CODE.invalidParams, "the requestState is not ours");
    return JSON.parse(Buffer.from(text, "base64url").toString());
  }

  #sign(text) {
    return createHmac("sha256", this.secret).update(text).digest("base64url");
  }
}

/** One connection. `send(message, requestId)` writes a message that belongs to that request, if any. */
export class Connection {
  constructor(server, send) {
    this.server = server;
    this.features = server.features;
    this.send = send;
    this.capabilities = {};
    this.level = "debug";
    this.running = new Map();
    this.asked = new Map();
    this.nextId = 1;
    this.subscriptions = new Map();
    this.resources = new Set();
    this.isModern = false;
    server.connections.add(this);
  }

  close() {
    this.server.connections.delete(this);
    for (const abort of this.running.values()) abort.abort("closed");
  }

  announce(method, params) {
    const of = method.match(/^notifications\/(\w+)\/list_changed$/)?.[1];
    const { uri } = params;
    if (!this.isModern) {
      if (of || this.resources.has(uri)) this.send({ jsonrpc: "2.0", method, params });
      return;
    }
    for (const [id, wanted] of this.subscriptions) {
      if (of ? wanted[`${of}ListChanged`] : wanted.resourceSubscriptions?.includes(uri)) {
        const _meta = { [`${META}subscriptionId`]: id };
        this.send({ jsonrpc: "2.0", method, params: { ...params, _meta } }, id);
      }
    }
  }

  /** Handles one message of the client. */
  async receive(message) {
    const { id, method, params = {} } = message;
    if (method === undefined) {
      this.asked.get(id)?.(message);
      this.asked.delete(id);
    } else if (id === undefined) {
      if (method === "notifications/cancelled") this.cancel(params.requestId);
    } else {
      const abort = new AbortController();
      this.running.set(id, abort);
      try {
        const result = await this.answer(id, method, params, abort.signal);
        // A cancelled request gets no answer.
        if (!abort.signal.aborted) this.send({ jsonrpc: "2.0", id, result }, id);
      } catch (error) {
        const { code = CODE.internal, message, data } = error;
        if (!abort.signal.aborted) this.send({ jsonrpc: "2.0", id, error: { code, message, data } }, id);
      } finally {
        this.running.delete(id);
      }
    }
  }

  cancel(id) {
    this.running.get(id)?.abort("cancelled");
    this.subscriptions.delete(id);
  }

  async answer(id, method, params, signal) {
    const version = params._meta?.[`${META}protocolVersion`];
    if (version === undefined && method !== "server/discover") {
      return this.answerOlder(id, method, params, signal);
    }
    if (!this.features.modern) throw unknownMethod(method);
    if (version === undefined) throw new Failure(CODE.invalidParams, "_meta names no protocol version");
    if (version !== MODERN) {
      const data = { requested: version, supported: [MODERN] };
      throw new Failure(CODE.unsupportedVersion, "Unsupported protocol version", data);
    }
    this.isModern = true;
    return this.answerModern(id, method, params, signal);
  }

  async answerOlder(id, method, params, signal) {
    switch (method) {
      case "initialize": {
        this.capabilities = params.capabilities ?? {};
        const asked = params.protocolVersion;
        const { info: serverInfo, instructions } = this.features;
        return {
          protocolVersion: OLDER.includes(asked) ? asked : OLDER[0],
          capabilities: this.offered(),
          serverInfo,
          instructions,
        };
      }
      case "ping":
        return {};
      case "logging/setLevel":
        this.level = params.level;
        return {};
      case "resources/subscribe":
        this.resources.add(params.uri);
        return {};
      case "resources/unsubscribe":
        this.resources.delete(params.uri);
        return {};
      default:
        return this.common(method, params, new Call(this, id, params, signal, false));
    }
  }

  async answerModern(id, method, params, signal) {
    const call = new Call(this, id, params, signal, true);
    const complete = (result) => ({ resultType: "complete", ...result });
    switch (method) {
      case "server/discover": {
        const { info, instructions } = this.features;
        const _meta = { [`${META}serverInfo`]: info };
        const capabilities = this.offered();
        return complete({ supportedVersions: [MODERN], capabilities, instructions, ...FRESH, _meta });
      }
      case "subscriptions/listen":
        return this.listen(id, params, signal);
      case "tasks/get":
        return complete(this.task(params, call).toJSON());
      case "tasks/update":
        this.task(params, call).receive(params.inputResponses ?? {});
        return complete({});
      case "tasks/cancel":
        this.task(params, call).cancel();
        return complete({});
    }
    try {
      const result = await this.common(method, params, call);
      if (result.resultType) return result;
      const keeps = method.endsWith("/list") || method === "resources/read";
      return complete({ ...result, ...(keeps ? FRESH : {}) });
    } catch (error) {
      if (!(error instanceof InputRequired)) throw error;
      const requestState = this.server.seal(error.answers);
      return { resultType: "input_required", inputRequests: error.requests, requestState };
    }
  }

  /** Keeps the request open until it is cancelled. */
  async listen(id, { notifications = {} }, signal) {
    const offered = this.offered();
    const accepted = {};
    for (const list of LISTS) {
      const key = `${list}ListChanged`;
      if (notifications[key] && offered[list]?.listChanged) accepted[key] = true;
    }
    if (notifications.resourceSubscriptions && offered.resources?.subscribe) {
      accepted.resourceSubscriptions = notifications.resourceSubscriptions;
    }
    const _meta = { [`${META}subscriptionId`]: id };
    const method = "notifications/subscriptions/acknowledged";
    this.send({ jsonrpc: "2.0", method, params: { notifications: accepted, _meta } }, id);
    this.subscriptions.set(id, accepted);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    this.subscriptions.delete(id);
  }

  offered() {
    const { tools, prompts, resources, complete, modern, hasTasks } = this.features;
    return {
      logging: {},
      ...(tools && { tools: { listChanged: true } }),
      ...(prompts && { prompts: { listChanged: true } }),
      ...(resources && { resources: { subscribe: true, listChanged: true } }),
      ...(complete && { completions: {} }),
      ...(modern && hasTasks && { extensions: { [TASKS]: {} } }),
    };
  }

  task({ taskId }, call) {
    if (!call.capabilities.extensions?.[TASKS]) throw missingCapability({ extensions: { [TASKS]: {} } });
    const task = this.server.tasks.get(taskId);
    if (!task) throw new Failure(CODE.invalidParams, `there is no task ${taskId}`);
    return task;
  }

  /** Answers a request that both variants have. */
  async common(method, params, call) {
    const { features } = this;
    switch (method) {
      case "tools/list":
        return this.page("tools", features.tools, params);
      case "prompts/list":
        return this.page("prompts", features.prompts, params);
      case "resources/list":
        return this.page("resources", features.resources, params);
      case "resources/templates/list":
        return this.page("resourceTemplates", features.templates, params);
      case "tools/call": {
        const tool = features.tools?.().find(({ name }) => name === params.name);
        if (!tool) throw new Failure(CODE.invalidParams, `Unknown tool: ${params.name}`);
        return call.tool(tool, params.arguments ?? {});
      }
      case "prompts/get": {
        const prompt = features.prompts?.().find(({ name }) => name === params.name);
        if (!prompt) throw new Failure(CODE.invalidParams, `Unknown prompt: ${params.name}`);
        return prompt.get(params.arguments ?? {}, call);
      }
      case "resources/read": {
        const contents = await features.read?.(params.uri, call);
        if (contents) return { contents };
        const code = call.isModern ? CODE.invalidParams : CODE.resourceNotFound;
        throw new Failure(code, "Resource not found", { uri: params.uri });
      }
      case "completion/complete": {
        if (!features.complete) throw unknownMethod(method);
        const values = features.complete(params);
        return { completion: { values, total: values.length, hasMore: false } };
      }
      default:
        throw unknownMethod(method);
    }
  }

  /** Returns one page of a list. The cursor is the number of the first entry. */
  page(key, list, { cursor }) {
    if (!list) throw unknownMethod(`${key}/list`);
    const all = list();
    const first = cursor === undefined ? 0 : Number(cursor);
    if (!Number.isInteger(first) || first < 0) throw new Failure(CODE.invalidParams, "an unknown cursor");
    const end = first + (this.features.pageSize ?? all.length);
    const page = all.slice(first, end).map(({ run, get, task, asksFirst, ...shown }) => shown);
    return { [key]: page, ...(end < all.length && { nextCursor: String(end) }) };
  }
}

export const missingCapability = (requiredCapabilities) =>
  new Failure(CODE.missingCapability, "Missing required client capability", { requiredCapabilities });

/** What a running tool can do besides returning a result. */
export class Call {
  constructor(connection, id, params, signal, isModern) {
    const meta = params._meta ?? {};
    this.connection = connection;
    this.server = connection.server;
    this.id = id;
    this.signal = signal;
    this.isModern = isModern;
    this.meta = meta;
    this.token = meta.progressToken;
    this.capabilities = isModern
      ? (meta[`${META}clientCapabilities`] ?? {})
      : connection.capabilities;
    this.level = isModern ? meta[`${META}logLevel`] : connection.level;
    // The answers of earlier rounds: a call of 2026-07-28 begins anew with each.
    this.answers = isModern ? this.#earlier(params) : {};
  }

  #earlier({ requestState, inputResponses }) {
    const known = requestState === undefined ? {} : this.server.open(requestState);
    const isAnswer = ([, answer]) => typeof answer === "object" && answer !== null;
    return { ...known, ...Object.fromEntries(Object.entries(inputResponses ?? {}).filter(isAnswer)) };
  }

  /** Runs a tool. An error that it throws is a result, unless it is a {@link Failure}. */
  async tool(tool, args) {
    const wantsTask = this.isModern && this.capabilities.extensions?.[TASKS];
    if (tool.task === "required" && this.isModern && !wantsTask) {
      throw missingCapability({ extensions: { [TASKS]: {} } });
    }
    if (tool.task && wantsTask) return this.asTask(tool, args);
    try {
      return await tool.run(args, this);
    } catch (error) {
      if (error instanceof Failure || error instanceof InputRequired) throw error;
      return { content: [{ type: "text", text: error.message }], isError: true };
    }
  }

  /** Starts a task. What the tool names in `asksFirst` is asked before, as for any call. */
  async asTask(tool, args) {
    if (tool.asksFirst) await this.ask(tool.asksFirst);
    const task = new Task(this, tool, args);
    this.server.tasks.set(task.state.taskId, task);
    return { resultType: "task", ...task.state };
  }

  progress(progress, total, message) {
    if (this.token === undefined) return;
    const params = { progressToken: this.token, progress, total, message };
    this.send("notifications/progress", params);
  }

  log(level, data, logger) {
    if (this.level === undefined || LEVELS.indexOf(level) < LEVELS.indexOf(this.level)) return;
    this.send("notifications/message", { level, logger, data });
  }

  send(method, params) {
    this.connection.send({ jsonrpc: "2.0", method, params }, this.id);
  }

  /** Asks the client several things at once; returns the answers by key. */
  async ask(requests) {
    if (!this.isModern) {
      const asked = Object.entries(requests).map(async ([key, request]) => [key, await this.request(request)]);
      return Object.fromEntries(await Promise.all(asked));
    }
    const missing = Object.entries(requests).filter(([key]) => !(key in this.answers));
    if (missing.length > 0) throw new InputRequired(Object.fromEntries(missing), this.answers);
    return Object.fromEntries(Object.keys(requests).map((key) => [key, this.answers[key]]));
  }

  /** Sends a request to a client up to 2025-11-25 and returns its result. */
  request({ method, params }) {
    const { connection } = this;
    const id = `ask-${connection.nextId++}`;
    return new Promise((resolve, reject) => {
      connection.asked.set(id, ({ result, error }) =>
        error ? reject(new Error(`${method}: ${error.code} ${error.message}`)) : resolve(result),
      );
      connection.send({ jsonrpc: "2.0", id, method, params }, this.id);
    });
  }

  async elicit(params, key = "question") {
    return (await this.ask({ [key]: { method: "elicitation/create", params } }))[key];
  }

  async sample(params, key = "sample") {
    return (await this.ask({ [key]: { method: "sampling/createMessage", params } }))[key];
  }

  async roots(key = "roots") {
    return (await this.ask({ [key]: { method: "roots/list", params: {} } }))[key].roots;
  }
}

/** A call that goes on after its first answer. */
class Task {
  #abort = new AbortController();
  #waiting = new Map();

  constructor(call, tool, args) {
    const now = new Date().toISOString();
    this.state = {
      taskId: randomUUID(),
      status: "working",
      createdAt: now,
      lastUpdatedAt: now,
      ttlMs: 600_000,
      pollIntervalMs: 50,
    };
    const own = Object.create(call);
    own.signal = this.#abort.signal;
    own.progress = () => {};
    own.log = () => {};
    own.ask = (requests) => this.#ask(requests, call.answers);
    own.task = this;
    // The tool starts after the answer was sent.
    setImmediate(() => this.#run(tool, args, own));
  }

  async #run(tool, args, call) {
    try {
      this.#settle("completed", { result: await tool.run(args, call) });
    } catch ({ code, message, data }) {
      const result = { content: [{ type: "text", text: message }], isError: true };
      if (code === undefined) this.#settle("completed", { result });
      else this.#settle("failed", { error: { code, message, data } });
    }
  }

  async #ask(requests, known) {
    const answered = Object.entries(requests).map(([key, request]) =>
      key in known
        ? [key, known[key]]
        : new Promise((resolve) => {
            this.#waiting.set(key, { request, resolve: (answer) => resolve([key, answer]) });
          }),
    );
    if (this.#waiting.size > 0) this.#change("input_required");
    return Object.fromEntries(await Promise.all(answered));
  }

  receive(answers) {
    for (const [key, answer] of Object.entries(answers)) {
      this.#waiting.get(key)?.resolve(answer);
      this.#waiting.delete(key);
    }
    if (this.state.status === "input_required" && this.#waiting.size === 0) this.#change("working");
  }

  cancel() {
    this.#abort.abort("cancelled");
    this.#settle("cancelled", {});
  }

  #settle(status, payload) {
    if (["completed", "failed", "cancelled"].includes(this.state.status)) return;
    this.#waiting.clear();
    this.payload = payload;
    this.#change(status);
  }

  #change(status) {
    this.state.status = status;
    this.state.lastUpdatedAt = new Date().toISOString();
  }

  toJSON() {
    const asked = [...this.#waiting].map(([key, { request }]) => [key, request]);
    const inputRequests = asked.length > 0 ? { inputRequests: Object.fromEntries(asked) } : {};
    return { ...this.state, ...inputRequests, ...this.payload };
  }
}

/** Serves on standard input and output until the input ends. */
export function serveStdio(server) {
  const connection = new Connection(server, (message) => {
    process.stdout.write(`${JSON.stringify(message)}\n`);
  });
  readLines(process.stdin, (line) => connection.receive(JSON.parse(line)));
  process.stdin.on("end", () => {
    connection.close();
    process.exit(0);
  });
  return connection;
}

/** Calls `take` with each line that is not empty. */
export function readLines(stream, take) {
  let rest = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop();
    for (const line of lines) if (line.trim()) take(line);
  });
}
