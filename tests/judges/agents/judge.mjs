// Drives the coding agents against a model API on the loopback interface and haft, and says what reached the model
// and the user.
//
// Started by `cargo xtask judge agents`, which says where everything is:
//   node judge.mjs --haft PATH --packages FOLDER [--agent NAME]… [--check TEXT]… [--jobs N] [--screen]
// `--jobs` agents are judged at the same time; `--screen` shows what the user saw last where a check fails.

import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { FakeApi } from "./api/server.mjs";
import { CODE, CODE_CONFIG, COMMANDS, LONG_CALL, ONCE, SESSION } from "./checks.mjs";
import { claudeCode } from "./clients/claude-code.mjs";
import { codex } from "./clients/codex.mjs";
import { gemini } from "./clients/gemini.mjs";
import { opencode } from "./clients/opencode.mjs";
import { TOOLS } from "./place.mjs";
import { Run } from "./run.mjs";
import { judged, table } from "./verdict.mjs";

const CLIENTS = [
  claudeCode("Claude Code, 2025-11-25", "legacy"),
  claudeCode("Claude Code, 2026-07-28", "auto"),
  codex,
  gemini,
  opencode,
];
const CHECKS = [ONCE, CODE, COMMANDS, SESSION, LONG_CALL].flatMap((part) => Object.keys(part));
/** Set where the process is in its network namespace. */
const ALONE = "HAFT_JUDGE_ALONE";

const { values: options } = parseArgs({
  options: {
    haft: { type: "string" },
    packages: { type: "string" },
    agent: { type: "string", multiple: true },
    check: { type: "string", multiple: true },
    jobs: { type: "string", default: "2" },
    screen: { type: "boolean", default: false },
  },
});

const strange = (options.agent ?? []).filter((name) => !CLIENTS.some(({ id }) => id === name));
if (strange.length) {
  const known = [...new Set(CLIENTS.map(({ id }) => id))].join(", ");
  console.error(`unknown agent: ${strange.join(", ")}; the judge knows: ${known}`);
  process.exit(2);
}
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(130));
if (!process.env[ALONE] && hasNamespaces()) process.exit(alone());
process.exit(await judge());

async function judge() {
  const clients = CLIENTS.filter(({ id }) => !options.agent || options.agent.includes(id));
  const api = await FakeApi.start();
  const instructions = instructionsOf(options.haft);
  const verdicts = [];
  const waiting = clients.map((client, index) => ({ client, index }));
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      await judgeOne(next.client, next.index, { api, instructions, verdicts });
  };
  await Promise.all(Array.from({ length: Number(options.jobs) }, work));
  await api.stop();
  const labels = clients.map(({ label }) => label);
  console.log(`\n${table(CHECKS.filter(isWanted), labels, verdicts)}\n`);
  const bad = verdicts.filter(({ verdict }) => verdict === "FAIL");
  for (const { label, check, seen } of bad) console.log(`FAIL  ${label}: ${check}: ${seen}`);
  return bad.length ? 1 : 0;
}

async function judgeOne(client, index, { api, instructions, verdicts }) {
  const path = join(options.packages, ".bin", client.program);
  client.label = `${client.name} (${version(path)})`;
  const report = (check, verdict, seen) => {
    verdicts.push({ label: client.label, check, verdict, seen });
    console.log(`${verdict.padEnd(5)} ${client.label}: ${check}: ${seen}`);
  };
  const part = async (name, checks, opens, more = {}) => {
    const wanted = Object.entries(checks).filter(([check]) => isWanted(check));
    if (wanted.length === 0) return;
    const haft = options.haft;
    const scene = { client, path, api, haft, instructions, ...more };
    const run = new Run({ ...scene, name: `${name}-${index}` });
    const start = await outcome(() => opens && run.open());
    for (const [check, look] of wanted) {
      if (start.failed) {
        report(check, "FAIL", `the agent does not start: ${start.failed}`);
        continue;
      }
      const limit = client.limits?.[check];
      run.expects(limit !== undefined);
      const [verdict, seen] = judged(limit, await outcome(() => look(run)));
      report(check, verdict, seen);
      if (verdict === "FAIL" && options.screen) console.log(run.session?.seen.slice(-4000));
    }
    if (start.failed && options.screen) console.log(run.session?.seen.slice(-4000));
    await run.close();
  };
  const beside = part("long", LONG_CALL, true);
  await part("once", ONCE, false);
  await part("code", CODE, false, { config: CODE_CONFIG });
  if (client.offerByCommands) await part("commands", COMMANDS, false, { byCommands: true });
  await part("session", SESSION, true);
  await beside;
}

async function outcome(look) {
  try {
    return { seen: await look() };
  } catch (error) {
    return { failed: error.message };
  }
}

function isWanted(check) {
  return !options.check || options.check.some((text) => check.includes(text));
}

function version(path) {
  const home = mkdtempSync(join(tmpdir(), "haft-judge-version-"));
  try {
    const env = { PATH: process.env.PATH, HOME: home };
    const said = execFileSync(path, ["--version"], {
      env,
      encoding: "utf8",
      timeout: 60_000,
      stdio: "pipe",
    });
    return /\d+\.\d+\.\d+/.exec(said)[0];
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** Returns the instructions that haft sends when a client connects. */
function instructionsOf(haft) {
  const home = mkdtempSync(join(tmpdir(), "haft-judge-"));
  const params = {
    protocolVersion: "2025-06-18",
    capabilities: {},
    clientInfo: { name: "judge", version: "1" },
  };
  const request = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params });
  const env = { PATH: process.env.PATH, HOME: home };
  const args = ["--tool", TOOLS, "serve", "mcp"];
  const said = execFileSync(haft, args, {
    cwd: home,
    env,
    input: `${request}\n`,
    encoding: "utf8",
  });
  rmSync(home, { recursive: true, force: true });
  return JSON.parse(said.split("\n")[0]).result.instructions;
}

function namespace(program, ...args) {
  const own = process.getuid() === 0 ? ["--net"] : ["--map-root-user", "--net"];
  const script = 'ip link set lo up && exec "$@"';
  return spawnSync("unshare", [...own, "sh", "-c", script, "sh", program, ...args], {
    stdio: "inherit",
    env: { ...process.env, [ALONE]: "1" },
  });
}

function hasNamespaces() {
  if (namespace("true").status === 0) return true;
  console.log("no network namespace: only the agents' own settings keep them off the network");
  return false;
}

/** The same in a network of its own that has only the loopback interface. */
function alone() {
  const self = fileURLToPath(import.meta.url);
  return namespace(process.execPath, self, ...process.argv.slice(2)).status ?? 1;
}
