// The adapters for coding agents, with the agents' own SDKs: Claude Code, pi, and oh-my-pi, which runs on Bun.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { query } from "@anthropic-ai/claude-agent-sdk";
import {
  AuthStorage,
  createAgentSession,
  ModelRegistry,
  SessionManager,
  SettingsManager,
} from "@earendil-works/pi-coding-agent";

import { haft } from "../../dist/index.mjs";
import { anthropicModel, anthropicResults, assertAnthropic, CALLS, wait } from "../fake_models.mjs";
import { atEnd, place, started } from "../harness.mjs";

// ---- Claude Agent SDK ----

const inClaude = (calls) => calls.map((call) => ({ ...call, name: `mcp__haft__${call.name}` }));

/** Runs Claude Code with the tools, and returns its messages. */
async function claude(t, tools, model, more = {}, options = {}) {
  const { cwd, home } = place(t);
  const messages = [];
  const run = query({
    prompt: "go",
    options: {
      cwd,
      model: "claude-sonnet-4-5",
      tools: [],
      mcpServers: { haft: tools.claudeAgent(options) },
      allowedTools: ["mcp__haft__*"],
      settingSources: [],
      persistSession: false,
      env: {
        PATH: process.env.PATH,
        HOME: home,
        ANTHROPIC_API_KEY: "k",
        ANTHROPIC_BASE_URL: model.url,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_AUTOUPDATER: "1",
        ENABLE_TOOL_SEARCH: "false",
      },
      ...more,
    },
  });
  for await (const message of run) messages.push(message);
  return messages;
}

test("claudeAgent: text, image, error", async (t) => {
  const tools = await started(t, haft);
  const model = await anthropicModel(t, inClaude(CALLS));
  const messages = await claude(t, tools, model);
  assert.equal(messages.at(-1).result, "finished");
  assertAnthropic(model, "not today");
});

test("claudeAgent: updates and cancellation", async (t) => {
  const tools = await started(t, haft);
  const mark = join(place(t).root, "mark");
  const abortController = new AbortController();
  const onUpdate = () => abortController.abort();
  const model = await anthropicModel(t, inClaude(wait(mark)));
  await assert.rejects(claude(t, tools, model, { abortController }, { onUpdate }));
  await tools.close();
  assert.ok(existsSync(mark), "the tool was not cancelled");
});

test("claudeAgent: a crash of haft is an error of the tool", async (t) => {
  const tools = await started(t, haft);
  const model = await anthropicModel(t, inClaude(wait()));
  const onUpdate = () => process.kill(tools.pid, "SIGKILL");
  const messages = await claude(t, tools, model, {}, { onUpdate });
  assert.equal(messages.at(-1).result, "finished");
  assert.deepEqual(anthropicResults(model)["call_9"], {
    content: ["haft rpc ended by SIGKILL"],
    isError: true,
  });
});

// ---- pi ----

/** Starts a session of pi with the tools and with no tools of its own. */
async function piSession(t, customTools, model) {
  const { cwd, root } = place(t);
  const authStorage = AuthStorage.create(join(root, "auth.json"));
  authStorage.setRuntimeApiKey("anthropic", "k");
  const { session } = await createAgentSession({
    cwd,
    agentDir: join(root, "agent"),
    model: {
      id: "fake",
      name: "Fake",
      api: "anthropic-messages",
      provider: "anthropic",
      baseUrl: model.url,
      reasoning: false,
      input: ["text", "image"],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow: 100_000,
      maxTokens: 1000,
    },
    authStorage,
    modelRegistry: ModelRegistry.inMemory(authStorage),
    noTools: "builtin",
    customTools,
    sessionManager: SessionManager.inMemory(cwd),
    settingsManager: SettingsManager.inMemory({
      compaction: { enabled: false },
      retry: { enabled: false },
    }),
  });
  atEnd(t, () => session.dispose());
  return session;
}

test("pi: text, image, error", async (t) => {
  const tools = await started(t, haft);
  const model = await anthropicModel(t, CALLS);
  const session = await piSession(t, tools.pi(), model);
  await session.prompt("go");
  assert.equal(session.getLastAssistantText(), "finished");
  assertAnthropic(model, "not today");
});

test("pi: updates and cancellation", async (t) => {
  const tools = await started(t, haft);
  const mark = join(place(t).root, "mark");
  const session = await piSession(t, tools.pi(), await anthropicModel(t, wait(mark)));
  const updates = [];
  session.subscribe((event) => {
    if (event.type !== "tool_execution_update") return;
    updates.push(event.partialResult.content);
    void session.abort();
  });
  await session.prompt("go");
  await tools.close();
  assert.deepEqual(updates, [[{ type: "text", text: "waiting" }]]);
  assert.ok(existsSync(mark), "the tool was not cancelled");
});

test("pi: questions are asked in the session's user interface", async (t) => {
  const tools = await started(t, haft);
  const calls = [{ id: "call_1", name: "choose", input: { names: ["Iris", "Juno"] } }];
  const model = await anthropicModel(t, calls);
  const session = await piSession(t, tools.pi(), model);
  const asked = [];
  const select = async (title, options) => {
    asked.push([title, options]);
    return "Juno";
  };
  await session.bindExtensions({ uiContext: { select } });
  await session.prompt("go");
  assert.deepEqual(asked, [["Which name?", ["Iris", "Juno"]]]);
  const content = ["chosen: Juno"];
  assert.deepEqual(anthropicResults(model)["call_1"], { content, isError: false });
});

test("pi: a crash of haft is an error of the tool", async (t) => {
  const tools = await started(t, haft);
  const model = await anthropicModel(t, wait());
  const onUpdate = () => process.kill(tools.pid, "SIGKILL");
  const session = await piSession(t, tools.pi({ onUpdate }), model);
  await session.prompt("go");
  assert.deepEqual(anthropicResults(model)["call_9"], {
    content: ["haft rpc ended by SIGKILL"],
    isError: true,
  });
});
