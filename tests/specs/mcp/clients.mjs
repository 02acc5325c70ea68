// The official TypeScript clients, the older and the newer one, list and call over both transports.
//
// Started by `cargo xtask judge`, which says where everything is.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const { HAFT, TOOLS, URL: address, PACKAGES } = process.env;
const require = createRequire(`${PACKAGES}/`);
const load = (name) => import(pathToFileURL(require.resolve(name)).href);

const stdio = { command: HAFT, args: ["--tool", TOOLS, "serve", "mcp"], stderr: "ignore" };

async function judge(name, client, transport) {
  await client.connect(transport);
  const { tools } = await client.listTools();
  assert.ok(tools.some((tool) => tool.name === "test_simple_text"));
  const said = await client.callTool({ name: "test_simple_text", arguments: {} });
  assert.equal(said.content[0].text, "This is a simple text response for testing.");
  const failed = await client.callTool({ name: "test_error_handling", arguments: {} });
  assert.equal(failed.isError, true);
  const mixed = await client.callTool({ name: "test_multiple_content_types", arguments: {} });
  assert.deepEqual(
    mixed.content.map((block) => block.type),
    ["text", "image", "resource"],
  );
  const steps = [];
  await client.callTool({ name: "test_tool_with_progress", arguments: {} }, ...onProgress(name, steps));
  assert.deepEqual(steps, [0, 50, 100]);
  const asked = await client.callTool({ name: "confirm_delete", arguments: { filename: "a" } });
  assert.equal(asked.content[0].text, "Deleted a");
  await client.close();
  console.log(`${name}: ${tools.length} tools, content`);
}

// The older client has the schema of the result in between.
function onProgress(name, steps) {
  const options = { onprogress: ({ progress }) => steps.push(progress) };
  return name.startsWith("older") ? [undefined, options] : [options];
}

const info = { name: "judge", version: "1" };
const capabilities = { elicitation: { form: {} } };
const agreed = async () => ({ action: "accept", content: { confirmed: true } });

{
  const { Client } = await load("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await load("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = await load(
    "@modelcontextprotocol/sdk/client/streamableHttp.js",
  );
  const { ElicitRequestSchema } = await load("@modelcontextprotocol/sdk/types.js");
  const older = () => {
    const client = new Client(info, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, agreed);
    return client;
  };
  await judge("older, stdio", older(), new StdioClientTransport(stdio));
  await judge("older, http", older(), new StreamableHTTPClientTransport(new URL(address)));
}
{
  const { Client, StreamableHTTPClientTransport } = await load("@modelcontextprotocol/client");
  const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");
  const newer = () => {
    const client = new Client(info, { capabilities });
    client.setRequestHandler("elicitation/create", agreed);
    return client;
  };
  await judge("newer, stdio", newer(), new StdioClientTransport(stdio));
  await judge("newer, http", newer(), new StreamableHTTPClientTransport(new URL(address)));
}
