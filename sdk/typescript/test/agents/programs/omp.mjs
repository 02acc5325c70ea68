// Runs one turn of oh-my-pi with haft's tools, and prints what happened as JSON: bun omp.mjs MODEL_URL MODE TOOLS.
// MODE: `answer`; `cancel`: aborts the turn at the first update; `crash`: kills haft at the first update.

import { getBundledModel } from "@oh-my-pi/pi-catalog/models";
import {
  AuthStorage,
  createAgentSession,
  ModelRegistry,
  SessionManager,
  Settings,
} from "@oh-my-pi/pi-coding-agent";

import { haft } from "../../../dist/index.mjs";

const [url, mode, path] = process.argv.slice(2);
const tools = await haft({ paths: [path], binary: process.env.HAFT_BINARY });
const authStorage = await AuthStorage.create(`${process.env.HOME}/agent.db`);
authStorage.setRuntimeApiKey("anthropic", "k");
const model = { ...getBundledModel("anthropic", "claude-sonnet-4-5"), baseUrl: url };
const { session } = await createAgentSession({
  agentDir: `${process.env.HOME}/agent`,
  authStorage,
  modelRegistry: new ModelRegistry(authStorage),
  model,
  customTools: tools.omp(),
  sessionManager: SessionManager.inMemory(),
  settings: Settings.isolated({ "retry.enabled": false }),
  skills: [],
  rules: [],
  contextFiles: [],
  enableMCP: false,
  enableLsp: false,
  disableExtensionDiscovery: true,
});
const updates = [];
session.subscribe((event) => {
  if (event.type !== "tool_execution_update") return;
  updates.push(event.partialResult.content);
  if (mode === "cancel") void session.abort();
  if (mode === "crash") process.kill(tools.pid, "SIGKILL");
});
await session.prompt("go");
const text = session.getLastAssistantText() ?? null;
await tools.close();
console.log(JSON.stringify({ updates, text }));
process.exit(0);
