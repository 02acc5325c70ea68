// The features of the plain server: one tool for everything that MCP can do.

import { appendFileSync } from "node:fs";

import { CODE, Failure } from "./protocol.mjs";

export const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
export const SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";

export const text = (text) => ({ type: "text", text });
export const says = (...content) => ({ content });
export const object = (properties = {}, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  ...(required.length > 0 && { required }),
});
const string = { type: "string" };
const number = { type: "number" };
export const form = (message, properties, required) => ({
  mode: "form",
  message,
  requestedSchema: object(properties, required),
});

/** Resolves after the time, or at the end of the call. */
export const pause = (ms, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });

/**
 * Returns the features. `modern` says whether the server also speaks 2026-07-28, `pageSize` how
 * many entries a page of a list has. `changed(list)` and `updated(uri)` are set by the caller.
 */
export function features({ name = "plain", modern = true, pageSize } = {}) {
  let calls = 0;
  const cancelled = [];
  let extra = false;
  let notes = { one: "The first note.", two: "The second note." };
  const tool = (name, inputSchema, run, rest) => ({ name, description: `Plain: ${name}`, inputSchema, run, ...rest });

  const tools = () => [
    tool("echo", object({ text: string }), ({ text: it }) => says(text(it)), {
      title: "Echo",
      description: "Returns its text",
      annotations: { readOnlyHint: true },
    }),
    tool("add", object({ a: number, b: number }), ({ a, b }) => ({
      ...says(text(String(a + b))),
      structuredContent: { sum: a + b },
    }), { outputSchema: object({ sum: number }), annotations: { readOnlyHint: true } }),
    tool("destroy", object({ what: string }), ({ what }) => says(text(`${what} is gone`)), {
      annotations: { destructiveHint: true },
    }),
    tool("image", object(), () => says({ type: "image", data: PIXEL, mimeType: "image/png" })),
    tool("audio", object(), () => says({ type: "audio", data: SILENCE, mimeType: "audio/wav" })),
    tool("resource", object(), () =>
      says({ type: "resource", resource: { uri: "note://one", mimeType: "text/plain", text: notes.one } })),
    tool("blob", object(), () =>
      says({ type: "resource", resource: { uri: "note://pixel", mimeType: "image/png", blob: PIXEL } })),
    tool("link", object(), () =>
      says({ type: "resource_link", uri: "note://two", name: "two", description: "A note", mimeType: "text/plain" })),
    tool("mixed", object(), () =>
      says(text("before"), { type: "image", data: PIXEL, mimeType: "image/png" }, { ...text("after"), annotations: { audience: ["user"], priority: 0.3 }, _meta: { "test/kept": [1] } })),
    tool("nothing", object(), () => says()),
    tool("fail", object({ why: string }), ({ why }) => {
      throw new Error(why);
    }),
    tool("protocol_error", object(), () => {
      throw new Failure(CODE.internal, "the server is broken", { hint: "restart it" });
    }),
    // The user has to open a page before the call.
    tool("url_required", object(), () => {
      const elicitations = [{ mode: "url", elicitationId: "login-1", url: "https://example.org/login", message: "Log in" }];
      throw new Failure(CODE.urlRequired, "Log in first", { elicitations });
    }),
    tool("trace", object(), (_args, call) => says(text(call.meta.traceparent ?? "none"))),
    tool("steps", object({ count: number }), (args, call) => {
      for (let step = 1; step <= args.count; step++) call.progress(step, args.count, `step ${step}`);
      return says(text(call.token === undefined ? "no token" : "with a token"));
    }),
    tool("log", object({ level: string, text: string }), ({ level, text: it }, call) => {
      call.log(level, it, name);
      return says(text("logged"));
    }),
    // Runs until it is cancelled.
    tool("wait", object({ id: string }), async ({ id }, call) => {
      call.progress(1, undefined, `waiting ${id}`);
      await pause(600_000, call.signal);
      cancelled.push(id);
      return says(text("waited"));
    }),
    tool("cancelled", object(), () => says(text(cancelled.join(",")))),
    tool("big", object({ bytes: number }), ({ bytes }) => says(text("x".repeat(bytes)))),
    tool("sleep", object({ ms: number }), async ({ ms }, call) => {
      await pause(ms, call.signal);
      return says(text(`slept ${ms}`));
    }),
    tool("ask_name", object(), async (_args, call) => {
      const { action, content } = await call.elicit(form("What is your name?", { name: string }));
      return says(text(`${action} ${content?.name ?? ""}`.trim()));
    }),
    tool("ask_form", object(), async (_args, call) => {
      const answer = await call.elicit(form("About you", {
        name: { type: "string", title: "Name", minLength: 1, default: "Ada" },
        age: { type: "integer", minimum: 0, default: 36 },
        size: { type: "number", default: 1.5 },
        agrees: { type: "boolean", default: true },
        colour: { type: "string", oneOf: [{ const: "r", title: "Red" }, { const: "g", title: "Green" }] },
        tags: { type: "array", items: { type: "string", enum: ["a", "b", "c"] } },
      }, ["name", "age"]));
      return says(text(JSON.stringify(answer)));
    }),
    tool("ask_twice", object(), async (_args, call) => {
      const first = await call.elicit(form("First?", { value: string }), "first");
      const second = await call.elicit(form(`After ${first.content?.value}?`, { value: string }), "second");
      return says(text(`${first.content?.value} ${second.content?.value}`));
    }),
    tool("ask_url", object(), async (_args, call) => {
      const url = "https://example.org/login?state=1";
      const { action } = await call.elicit({ mode: "url", message: "Log in", url, elicitationId: "login-1" });
      return says(text(action));
    }),
    tool("ask_model", object({ prompt: string }), async ({ prompt }, call) => {
      const messages = [{ role: "user", content: text(prompt) }];
      const { content, model } = await call.sample({ messages, maxTokens: 100 });
      return says(text(`${model}: ${[content].flat()[0].text}`));
    }),
    tool("ask_roots", object(), async (_args, call) =>
      says(text((await call.roots()).map(({ uri }) => uri).join(" ")))),
    tool("capabilities", object(), (_args, call) => says(text(JSON.stringify(Object.keys(call.capabilities).sort())))),
    // Adds a tool, or takes it away.
    tool("toggle_tool", object(), () => {
      extra = !extra;
      shape.changed("tools");
      return says(text(extra ? "added" : "removed"));
    }),
    tool("write_note", object({ name: string, text: string }), ({ name, text: it }) => {
      const isNew = !(name in notes);
      notes = { ...notes, [name]: it };
      if (isNew) shape.changed("resources");
      else shape.updated(`note://${name}`);
      return says(text(isNew ? "new" : "changed"));
    }),
    tool("environment", object({ names: { type: "array", items: string } }), ({ names }) => {
      const env = Object.fromEntries(names.map((it) => [it, process.env[it] ?? null]));
      return says(text(JSON.stringify({ cwd: process.cwd(), args: process.argv.slice(2), env })));
    }),
    // The headers of the HTTP request; of the first one, in a session.
    tool("headers", object({ names: { type: "array", items: string } }), ({ names }, call) =>
      says(text(JSON.stringify(names.map((it) => call.connection.headers?.[it] ?? null))))),
    // Says which process answers, and how often it was called.
    tool("count", object(), () => {
      calls += 1;
      return says(text(`${process.pid} ${calls}`));
    }),
    tool("job", object({ ms: number }), async ({ ms }, call) => {
      await pause(ms, call.signal);
      return says(text("the job is done"));
    }, { task: "optional" }),
    ...(extra ? [tool("extra", object(), () => says(text("extra")))] : []),
  ];

  const prompts = () => [
    {
      name: "greet",
      title: "Greeting",
      description: "Greets a person",
      arguments: [{ name: "name", description: "The person", required: true }],
      get: ({ name }) => ({
        description: "A greeting",
        messages: [{ role: "user", content: text(`Say hello to ${name}.`) }],
      }),
    },
    {
      name: "with_picture",
      description: "Has a picture and a note",
      get: () => ({
        messages: [
          { role: "user", content: { type: "image", data: PIXEL, mimeType: "image/png" } },
          { role: "assistant", content: { type: "resource", resource: { uri: "note://one", text: notes.one } } },
        ],
      }),
    },
  ];

  const shape = {
    info: { name, title: `The ${name} server`, version: "1.0.0" },
    instructions: `Call the tools of ${name} with care.`,
    modern,
    pageSize,
    hasTasks: true,
    tools,
    prompts,
    resources: () => [
      ...Object.keys(notes).map((it) => ({ uri: `note://${it}`, name: it, mimeType: "text/plain", size: notes[it].length })),
      { uri: "note://pixel", name: "pixel", mimeType: "image/png" },
    ],
    templates: () => [{ uriTemplate: "note://{name}/upper", name: "upper", description: "A note in capital letters", mimeType: "text/plain" }],
    read: (uri) => {
      if (uri === "note://pixel") return [{ uri, mimeType: "image/png", blob: PIXEL }];
      const [, it, upper] = uri.match(/^note:\/\/(\w+)(\/upper)?$/) ?? [];
      if (notes[it] === undefined) return undefined;
      return [{ uri, mimeType: "text/plain", text: upper ? notes[it].toUpperCase() : notes[it] }];
    },
    complete: ({ ref, argument }) => {
      const known = ref.type === "ref/prompt" ? ["Ada", "Alan", "Grace"] : Object.keys(notes);
      return known.filter((it) => it.toLowerCase().startsWith(argument.value.toLowerCase()));
    },
    changed: () => {},
    updated: () => {},
  };
  return shape;
}

/** Connects the features' announcements with the server. */
export function connect(server) {
  server.features.changed = (list) => server.changed(list);
  server.features.updated = (uri) => server.announce("notifications/resources/updated", { uri });
  return server;
}

/** Notes the start of this process in a file, one line for each. */
export function note(file, name) {
  if (file) appendFileSync(file, `${name} ${process.pid}\n`);
}
