// Uses the library in every way that depends on the runtime, and prints what it got as JSON.

import process from "node:process";

import { defineTool, type HaftError, haft } from "../../../dist/index.mjs";

const path = process.argv.at(-1)!;
const binary = process.env["HAFT_BINARY"];
const seen: Record<string, unknown> = {};

const shout = defineTool({
  name: "shout",
  description: "Makes a text loud",
  schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  execute: async ({ text }, { onUpdate, ask }) => {
    onUpdate("thinking");
    return `${text.toUpperCase()}${await ask.input("Which sign?")}`;
  },
});

let pid: number | undefined;
{
  await using tools = await haft({ paths: [path], binary, tools: [shout] });
  pid = tools.pid;
  seen["sum"] = (await tools.call("add", { a: 1, b: 2 })).text;
  const updates: unknown[] = [];
  const result = await tools.call(
    "shout",
    { text: "hi" },
    { onUpdate: ({ content }) => updates.push(content), onAsk: () => "!" },
  );
  seen["shout"] = [result.text, updates];
  const controller = new AbortController();
  const onUpdate = () => controller.abort(new Error("enough"));
  const call = tools.call("wait", {}, { signal: controller.signal, onUpdate });
  seen["aborted"] = await call.catch((error: Error) => error.message);
  const large = "x".repeat(3_000_000);
  seen["large"] = (await tools.call("shout", { text: large }, { onAsk: () => "" })).isError;
}
try {
  process.kill(pid!, 0);
  seen["closed"] = false;
} catch {
  seen["closed"] = true;
}

const killed = await haft({ paths: [path], binary });
const call = killed.call("wait", {}, { onUpdate: () => process.kill(killed.pid!, "SIGKILL") });
seen["killed"] = await call.catch((error: HaftError) => [error.kind, error.message]);

// Not closed: the end of the program ends it.
const forgotten = await haft({ paths: [path], binary });
seen["pid"] = forgotten.pid;
console.log(JSON.stringify(seen));
