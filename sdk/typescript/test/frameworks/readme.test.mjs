// The examples of the README, with their outputs.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import { anthropicModel } from "../fake_models.mjs";
import { place } from "../harness.mjs";
import { startServer } from "../mcp_client.mjs";

const PACKAGE = fileURLToPath(new URL("../..", import.meta.url));
const README = readFileSync(join(PACKAGE, "README.md"), "utf8");
const [[, SERVER]] = README.matchAll(/```js no-run\n(.*?)```/gs);
const EXAMPLES = [...README.matchAll(/```js\n(.*?)```\n\n```text\n(.*?)```/gs)];

/** The tools of the project in which the examples run. */
const TOOLS = `
  const says = (text) => ({ content: [{ type: "text", text }] });
  const type = "object";
  export default () => [
    { name: "greet", description: "Greets somebody.", approval: "read",
      parameters: { type, properties: { name: { type: "string" } }, required: ["name"] },
      execute: (_id, { name }) => says("Hello, " + name + "!") },
    { name: "count", description: "Counts.", approval: "read",
      parameters: { type, properties: { to: { type: "number" } } },
      execute: (_id, { to }, onUpdate) => {
        for (let number = 1; number <= to; number++) onUpdate(says(number + " of " + to));
        return says("done");
      } },
    { name: "refuse", description: "Always fails.", approval: "read", parameters: { type },
      execute: () => { throw new Error("not today"); } },
  ];`;

/** Makes a project with the tools, the package and the frameworks. */
function project(t) {
  const { cwd, env } = place(t);
  mkdirSync(join(cwd, ".omp/tools/examples"), { recursive: true });
  writeFileSync(join(cwd, ".omp/tools/examples/index.js"), TOOLS);
  mkdirSync(join(cwd, "node_modules/@ai-sdk"), { recursive: true });
  symlinkSync(PACKAGE, join(cwd, "node_modules/haft"));
  for (const name of ["ai", "@ai-sdk/anthropic", "zod"]) {
    symlinkSync(
      join(PACKAGE, "test/frameworks/node_modules", name),
      join(cwd, "node_modules", name),
    );
  }
  return { cwd, env };
}

test("every example is here", () => {
  assert.equal(EXAMPLES.length, README.split("```js\n").length - 1);
  assert.equal(EXAMPLES.length, 5);
});

for (const [index, [, code, expected]] of EXAMPLES.entries()) {
  test(`example ${index + 1} of the README`, async (t) => {
    const { cwd, env } = project(t);
    const calls = [{ id: "call_1", name: "greet", input: { name: "Ada" } }];
    const model = await anthropicModel(t, calls);
    writeFileSync(join(cwd, "example.mjs"), code);
    const done = await promisify(execFile)(process.execPath, ["example.mjs"], {
      cwd,
      env: {
        ...process.env,
        ...env,
        HAFT_BINARY: process.env.HAFT_BINARY,
        ANTHROPIC_BASE_URL: model.url,
        ANTHROPIC_API_KEY: "k",
      },
      timeout: 60_000,
    });
    assert.equal(done.stdout, expected);
  });
}

test("the MCP server of the README", async (t) => {
  const { cwd } = project(t);
  const program = join(cwd, "server.mjs");
  writeFileSync(program, SERVER);
  const { client } = startServer(t, undefined, program);
  await client.initialize();
  const { content } = await client.request("tools/call", {
    name: "add",
    arguments: { a: 1, b: 2 },
  });
  assert.deepEqual(content, [{ type: "text", text: "3" }]);
});
