// What the tests share: a haft with its own home and project, and a fake model on the loopback interface.

import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const TOOLS = fileURLToPath(new URL("./tools.ts", import.meta.url));

/** Base64 of the image of the tool `picture`. */
export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const cleanups = new WeakMap();

/** Runs `cleanup` at the end of the test, before those that were registered earlier. */
export function atEnd(t, cleanup) {
  const all = cleanups.get(t) ?? [];
  if (all.length === 0) {
    cleanups.set(t, all);
    t.after(async () => {
      for (const next of all.reverse()) await next();
    });
  }
  all.push(cleanup);
}

/** Makes an empty home and project; the test removes them at its end. */
export function place(t) {
  const root = mkdtempSync(join(tmpdir(), "haft-sdk-"));
  atEnd(t, () => rmSync(root, { recursive: true, force: true }));
  const [home, cwd] = [join(root, "home"), join(root, "project")];
  mkdirSync(home);
  mkdirSync(cwd);
  const env = { HOME: home };
  for (const name of Object.keys(process.env)) {
    if (/^(XDG|HAFT|PI|OMP|CLAUDE|CODEX|KODELET|IKIGAI)_/.test(name)) env[name] = undefined;
  }
  return { root, home, cwd, env };
}

/** Options for a haft with the tools of `tools.ts`. */
export function options(t, more = {}) {
  const { cwd, env } = place(t);
  return { cwd, env, paths: [TOOLS], binary: process.env.HAFT_BINARY, ...more };
}

/** Starts a haft with the tools of `tools.ts` that the end of the test closes. */
export async function started(t, start, more = {}) {
  const tools = await start(options(t, more));
  atEnd(t, () => tools.close());
  return tools;
}

/** Returns true while a process exists. */
export function isAlive(pid) {
  return existsSync(`/proc/${pid}`);
}

/** Serves `answer(body, path, response)` as JSON, and records the bodies of the requests. */
export async function fakeModel(t, answer) {
  const requests = [];
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const body = text === "" ? {} : JSON.parse(text);
    requests.push(body);
    const reply = await answer(body, request.url, response);
    if (response.writableEnded) return;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(reply));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(t, () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}`, requests };
}
