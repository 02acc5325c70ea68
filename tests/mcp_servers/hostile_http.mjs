// MCP servers over HTTP that misbehave, each in one way; their connections too.
//
//   node hostile_http.mjs BEHAVIOUR   serves; the first line of the output is the URL of the server
//   node hostile_http.mjs             lists the behaviours with what haft must do
//
// A behaviour is about calls of the tool `hello`, unless it has `always`. What a second server of
// another origin gets is in the further lines of the output.

import { createServer } from "node:http";
import { gzipSync } from "node:zlib";

import { body, json } from "./http.mjs";

const MB = 1 << 20;
const says = (text) => ({ content: [{ type: "text", text }] });
const hello = { name: "hello", description: "Says hello", inputSchema: { type: "object" } };
const result = ({ id }, result = says("hello is here")) => ({ jsonrpc: "2.0", id, result });
const events = (response) => response.writeHead(200, { "content-type": "text/event-stream" });
const event = (message) => `event: message\ndata: ${JSON.stringify(message)}\n\n`;

async function flood(response, piece) {
  while (!response.destroyed) {
    if (!response.write(piece)) await new Promise((resolve) => response.once("drain", resolve).once("close", resolve));
  }
}

export const BEHAVIOURS = {
  // Connecting.
  no_answer: { always: true, must: "give up after startup_timeout, with a problem", reply: () => {} },
  not_mcp: {
    always: true,
    must: "show a problem that names the type of the content",
    reply: (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>Hello</h1>"),
  },
  not_found: {
    always: true,
    must: "show a problem with the status",
    reply: (_, response) => response.writeHead(404, { "content-type": "text/plain" }).end("Not found"),
  },
  unauthorized: {
    always: true,
    must: "show a problem that names `haft mcp login`",
    reply: (_, response) => response.writeHead(401, { "www-authenticate": "Bearer" }).end(),
  },
  redirect: {
    always: true,
    must: "not follow to another origin with its headers; a problem names the address",
    reply: (_, response, { other }) => response.writeHead(307, { location: `${other}/mcp` }).end(),
  },
  redirect_loop: {
    always: true,
    must: "show a problem",
    reply: (_, response) => response.writeHead(307, { location: "/mcp" }).end(),
  },
  slow_head: {
    always: true,
    must: "give up after startup_timeout, although bytes come all the time",
    reply(_, response) {
      response.socket.write("HTTP/1.1 200 OK\r\n");
      const timer = setInterval(() => response.socket.write("X-Wait: yes\r\n"), 100);
      response.socket.on("close", () => clearInterval(timer));
    },
  },

  // Calls.
  error_500: {
    must: "fail the call with the status",
    reply: (_, response) => response.writeHead(500, { "content-type": "text/html" }).end("<h1>Oops</h1>"),
  },
  error_with_controls: {
    must: "print no escape sequences of the body",
    reply: (_, response) => response.writeHead(500, { "content-type": "text/plain" }).end("\u001b[2J\u001b]0;x\u0007"),
  },
  too_many: {
    must: "fail the call with the status, without waiting for an hour",
    reply: (_, response) => response.writeHead(429, { "retry-after": "3600" }).end(),
  },
  lost_session: {
    must: "open a new session once, and make the call there",
    reply(message, response, scene) {
      if (scene.sessions > 1) return json(response, 200, result(message));
      json(response, 404, { jsonrpc: "2.0", id: message.id, error: { code: -32001, message: "Session not found" } });
    },
  },
  always_lost_session: {
    must: "fail the call after a new session or two",
    reply: (message, response) => json(response, 404, { jsonrpc: "2.0", id: message.id, error: { code: -32001, message: "Session not found" } }),
  },
  resets: { must: "fail the call, which names the server", reply: (_, response) => response.socket.resetAndDestroy() },
  ends_early: {
    must: "fail the call, which names the server",
    reply(_, response) {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
      response.write('{"jsonrpc":');
      setTimeout(() => response.socket.destroy(), 50);
    },
  },
  ends_stream: {
    must: "fail the call: the stream ended without its result",
    reply: (_, response) => events(response).end(": nothing\n\n"),
  },
  silent_stream: {
    must: "fail the call after its timeout",
    reply: (_, response) => events(response).flushHeaders(),
  },
  endless_stream: {
    must: "fail the call after its timeout, in bounded memory",
    reply: (_, response) => flood(events(response), event({ jsonrpc: "2.0", method: "notifications/unknown" })),
  },
  long_event: {
    must: "fail the call at a limit of an event's size, in bounded memory",
    reply(_, response) {
      events(response).write("data: ");
      return flood(response, "x".repeat(MB));
    },
  },
  huge_body: {
    must: "fail the call at a limit of the body's size, in bounded memory",
    reply(_, response) {
      response.writeHead(200, { "content-type": "application/json" }).write('{"jsonrpc":"2.0","id":"');
      return flood(response, "x".repeat(MB));
    },
  },
  gzip_bomb: {
    must: "fail the call at a limit of the size after decompression, or because it asked for no compression",
    reply(_, response) {
      const bomb = gzipSync(Buffer.alloc(300 * MB, " "));
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end(bomb);
    },
  },
  other_id: {
    must: "fail the call; the answer to another request is not its answer",
    reply: (_, response) => json(response, 200, result({ id: 999_999 })),
  },
  accepted: {
    must: "fail the call: a request needs an answer",
    reply: (_, response) => response.writeHead(202).end(),
  },
  long_session: {
    always: true,
    must: "show a problem, or work; a header of 100 kB breaks nothing else",
    reply(message, response, scene) {
      scene.usual(message, response, { "mcp-session-id": "x".repeat(100_000) });
    },
  },
};

const [name] = process.argv.slice(2);
if (process.argv[1]?.endsWith("/hostile_http.mjs")) {
  if (name === undefined) {
    for (const [behaviour, { must }] of Object.entries(BEHAVIOURS)) console.log(`${behaviour}: ${must}`);
  } else {
    await serve(BEHAVIOURS[name]);
  }
}

async function serve({ always, reply }) {
  const scene = { sessions: 0, usual };
  const other = await listen(async (request, response) => {
    const { authorization = null, "x-key": key = null } = request.headers;
    console.log(JSON.stringify({ method: request.method, authorization, key }));
    usual(JSON.parse(await body(request)), response);
  });
  scene.other = other;
  const url = await listen(async (request, response) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    const message = JSON.parse(await body(request));
    if (message.method === "initialize") scene.sessions += 1;
    if (always || message.method === "tools/call") return reply(message, response, scene);
    usual(message, response, { "mcp-session-id": `session-${scene.sessions}` });
  });
  console.log(`${url}/mcp`);
  process.stdin.on("end", () => process.exit(0)).resume();
}

function listen(handler) {
  // Big headers are among the behaviours.
  const http = createServer({ maxHeaderSize: MB }, (request, response) => {
    response.on("error", () => {});
    Promise.resolve(handler(request, response)).catch(() => response.destroy());
  });
  return new Promise((resolve) => http.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${http.address().port}`)));
}

function usual(message, response, headers = {}) {
  const { id, method, params } = message;
  if (id === undefined) return response.writeHead(202).end();
  const answers = {
    initialize: () => ({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "hostile", version: "1.0.0" },
    }),
    ping: () => ({}),
    "tools/list": () => ({ tools: [hello] }),
    "tools/call": () => says("hello is here"),
  };
  const answer = answers[method];
  if (answer) json(response, 200, result(message, answer()), headers);
  else json(response, 200, { jsonrpc: "2.0", id, error: { code: -32601, message: `no method ${method}` } });
}
