// The HTTP transports of MCP: streamable HTTP in both variants at `/mcp`, and the older one with two
// addresses at `/sse` and `/messages`.

import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

import { CODE, Connection, MODERN } from "./protocol.mjs";

/**
 * Serves on a free port of the loopback interface and returns the base URL. `refuse(request)` returns
 * a status and headers for a request that may not pass, before anything of it is read.
 */
export async function serveHttp(server, { refuse = () => undefined, routes = {} } = {}) {
  const sessions = new Map();
  const handler = async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    const route = routes[pathname];
    if (route) return route(request, response, searchParams);
    const refused = refuse(request);
    if (refused) return response.writeHead(refused.status, refused.headers).end(refused.body);
    if (pathname === "/mcp") return streamable(server, sessions, request, response);
    if (pathname === "/sse") return openStream(server, sessions, request, response);
    if (pathname === "/messages") return postMessage(sessions, searchParams, request, response);
    response.writeHead(404).end();
  };
  const http = createServer((request, response) => {
    handler(request, response).catch((error) => {
      if (!response.headersSent) response.writeHead(500, { "content-type": "text/plain" });
      response.end(String(error.stack));
    });
  });
  await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${http.address().port}`;
}

export async function body(request) {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}

export function json(response, status, value, headers = {}) {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(value));
}

const fails = (response, status, code, message, id = null) =>
  json(response, status, { jsonrpc: "2.0", id, error: { code, message } });

/** An answer that is one JSON text, or a stream of events if something comes before the result. */
class Answer {
  constructor(response, id, headers = {}) {
    this.response = response;
    this.id = id;
    this.headers = headers;
  }

  send(message) {
    const isLast = message.id === this.id && message.method === undefined;
    if (isLast && !this.response.headersSent) {
      return json(this.response, status(message), message, this.headers);
    }
    openEvents(this.response, this.headers);
    event(this.response, message);
    if (isLast) this.response.end();
  }
}

function openEvents(response, headers = {}) {
  if (response.headersSent) return;
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache", ...headers });
  response.flushHeaders();
}

function event(response, message, name = "message") {
  const data = typeof message === "string" ? message : JSON.stringify(message);
  response.write(`event: ${name}\ndata: ${data}\n\n`);
}

function status({ error }) {
  if (error?.code === CODE.unknownMethod) return 404;
  const codes = [CODE.headerMismatch, CODE.missingCapability, CODE.unsupportedVersion];
  return codes.includes(error?.code) ? 400 : 200;
}

async function streamable(server, sessions, request, response) {
  const { headers, method } = request;
  const session = sessions.get(headers["mcp-session-id"]);
  if (method === "GET" || method === "DELETE") {
    if (!session) return response.writeHead(headers["mcp-session-id"] ? 404 : 405).end();
    if (method === "GET") return session.open(response);
    session.connection.close();
    sessions.delete(headers["mcp-session-id"]);
    return response.writeHead(200).end();
  }
  if (!/json/.test(headers["content-type"])) return response.writeHead(415).end();
  for (const type of ["application/json", "text/event-stream"]) {
    if (!headers.accept?.includes(type)) return response.writeHead(406).end();
  }
  const message = JSON.parse(await body(request));
  const isModern = headers["mcp-protocol-version"] === MODERN;
  if (isModern && server.features.modern) return modern(server, message, request, response);
  if (message.method === "initialize") {
    const id = randomUUID();
    const opened = new Session(server, headers);
    sessions.set(id, opened);
    return opened.post(message, response, { "mcp-session-id": id });
  }
  const wanted = headers["mcp-session-id"];
  if (!session) {
    return fails(response, wanted ? 404 : 400, -32600, wanted ? "Session not found" : "No session", message.id);
  }
  return session.post(message, response);
}

/** Answers a request of 2026-07-28, which belongs to no session. Its end cancels it. */
async function modern(server, message, request, response) {
  const { headers } = request;
  const { id, method, params } = message;
  if (id === undefined) return response.writeHead(202).end();
  const names = { "tools/call": params?.name, "prompts/get": params?.name, "resources/read": params?.uri };
  const mismatch =
    params?._meta?.["io.modelcontextprotocol/protocolVersion"] !== MODERN
      ? "MCP-Protocol-Version"
      : headers["mcp-method"] !== method
        ? "Mcp-Method"
        : method in names && headers["mcp-name"] !== names[method]
          ? "Mcp-Name"
          : undefined;
  if (mismatch) {
    return fails(response, 400, CODE.headerMismatch, `the header ${mismatch} does not fit the body`, id);
  }
  const answer = new Answer(response, id);
  const connection = new Connection(server, (sent) => answer.send(sent));
  connection.headers = headers;
  response.on("close", () => connection.close());
  await connection.receive(message);
}

/** A session of an older client: its requests, and its stream for everything else. */
class Session {
  constructor(server, headers) {
    this.answers = new Map();
    this.queued = [];
    this.connection = new Connection(server, (message, id) => this.#send(message, id));
    this.connection.headers = headers;
  }

  #send(message, id) {
    const answer = this.answers.get(id);
    if (answer) answer.send(message);
    else if (this.stream) event(this.stream, message);
    else this.queued.push(message);
  }

  open(response) {
    openEvents(response);
    this.stream = response;
    for (const message of this.queued.splice(0)) event(response, message);
    response.on("close", () => {
      if (this.stream === response) this.stream = undefined;
    });
  }

  async post(message, response, headers) {
    if (message.id === undefined || message.method === undefined) {
      response.writeHead(202).end();
      return this.connection.receive(message);
    }
    this.answers.set(message.id, new Answer(response, message.id, headers));
    await this.connection.receive(message);
    this.answers.delete(message.id);
    // A cancelled request has no answer.
    if (!response.writableEnded) response.end();
  }
}

/** Opens the stream of the older transport and says where messages go. */
function openStream(server, sessions, request, response) {
  const id = randomUUID();
  openEvents(response);
  event(response, `/messages?session=${id}`, "endpoint");
  const connection = new Connection(server, (message) => event(response, message));
  connection.headers = request.headers;
  sessions.set(id, connection);
  response.on("close", () => {
    sessions.delete(id);
    connection.close();
  });
}

async function postMessage(sessions, parameters, request, response) {
  const connection = sessions.get(parameters.get("session"));
  if (!connection) return response.writeHead(404).end();
  const message = JSON.parse(await body(request));
  response.writeHead(202).end("Accepted");
  connection.receive(message);
}
