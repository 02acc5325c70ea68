// The library on Bun and Deno.

import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { isAlive } from "../harness.mjs";
import { startServer } from "../mcp_client.mjs";
import { BUN, DENO, run } from "./runtimes.mjs";

const PROGRAM = fileURLToPath(new URL("./programs/runtime.ts", import.meta.url));

for (const [name, runtime] of [
  ["Bun", [BUN]],
  ["Deno", [DENO, "run", "--quiet", "--allow-all", "--no-check"]],
]) {
  test(`${name}: calls, tools of the program, cancellation, a crash`, async (t) => {
    const { pid, ...seen } = JSON.parse(await run(t, [...runtime, PROGRAM]));
    assert.deepEqual(seen, {
      sum: "3",
      shout: ["HI!", [[{ type: "text", text: "thinking" }]]],
      aborted: "enough",
      large: false,
      closed: true,
      killed: ["ended", "haft rpc ended by SIGKILL"],
    });
    for (let tries = 0; isAlive(pid) && tries < 500; tries++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    assert.equal(isAlive(pid), false, "haft outlived the program");
  });

  test(`${name}: an MCP server`, async (t) => {
    const { child, client } = startServer(t, runtime);
    await client.initialize();
    const { tools } = await client.request("tools/list");
    const names = tools.map((tool) => tool.name);
    assert.ok(names.includes("shout") && names.includes("add"), names.join());
    const shout = await client.request("tools/call", { name: "shout", arguments: { text: "hi" } });
    assert.deepEqual(shout.content, [{ type: "text", text: "HI!" }]);
    child.stdin.end();
    const [code] = await once(child, "exit");
    assert.equal(code, 0);
  });
}
