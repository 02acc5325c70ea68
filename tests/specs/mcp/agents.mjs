// Coding agents read the configuration that `haft agents config --write` makes, and say what they see in
// it: each lists its servers, and those that look further connect to haft. No agent needs an account for
// that, or a network.
//
// Started by `cargo xtask judge`, which says where everything is.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";

const { HAFT, URL: address, AGENTS } = process.env;

/** Command by which each agent lists its servers, and the check that haft's entry `name` is there. */
const agents = {
  "claude-code": {
    program: "claude",
    scopes: ["user", "local", "project"],
    list: ["mcp", "list"],
    // What a project brings runs only once the user has agreed to it there.
    shows: (said, name, scope) =>
      said.includes(scope === "project" ? "Pending approval" : "Connected") &&
      said.includes(`${name}: `),
  },
  codex: {
    program: "codex",
    // A project's file is read once the project is trusted; no command trusts it.
    scopes: ["user"],
    list: ["mcp", "list", "--json"],
    shows(said, name) {
      const found = JSON.parse(said).find((server) => server.name === name);
      return found.enabled && (found.transport.command === HAFT || found.transport.url === address);
    },
  },
  gemini: {
    program: "gemini",
    scopes: ["user", "project"],
    list: ["mcp", "list"],
    shows: (said, name) => new RegExp(`✓ ${name}: .* - Connected`).test(said),
  },
  opencode: {
    program: "opencode",
    scopes: ["user", "project"],
    list: ["mcp", "list"],
    shows: (said, name) => new RegExp(`✓ ${name} +connected`).test(said),
  },
};

/** An empty home and an empty project. */
const place = mkdtempSync(join(tmpdir(), "haft-agents-"));
const [home, project] = [join(place, "home"), join(place, "project")];
const quiet = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  GEMINI_CLI_TRUST_WORKSPACE: "true",
  OPENCODE_DISABLE_AUTOUPDATE: "1",
  OPENCODE_DISABLE_MODELS_FETCH: "1",
};

function run(program, args) {
  const env = { HOME: home, PATH: process.env.PATH, TERM: "dumb", ...quiet };
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd: project,
    env,
    encoding: "utf8",
    timeout: 120_000,
    stdio: ["ignore", "pipe", "pipe"],
  });
  assert.equal(status, 0, `${program} ${args.join(" ")}: ${error ?? ""}${stdout}${stderr}`);
  // Some list on standard error; what is for programs stands alone on standard output.
  return args.includes("--json") ? stdout : stripVTControlCharacters(stdout + stderr);
}

try {
  for (const [agent, { program, scopes, list, shows }] of Object.entries(agents)) {
    const path = join(AGENTS, ".bin", program);
    for (const scope of scopes) {
      mkdirSync(home, { recursive: true });
      mkdirSync(project, { recursive: true });
      const config = (...more) =>
        run(HAFT, ["agents", "config", agent, "--scope", scope, "--write", ...more]);
      config("--command", HAFT);
      config("--name", "far", "--url", address, "--no-token");
      const said = run(path, list);
      for (const name of ["haft", "far"]) {
        assert.ok(shows(said, name, scope), `${agent}, ${scope}, ${name}:\n${said}`);
      }
      rmSync(place, { recursive: true });
    }
    mkdirSync(home, { recursive: true });
    mkdirSync(project, { recursive: true });
    const [version] = /\d+\.\d+\.\d+/.exec(run(path, ["--version"]));
    console.log(`${agent} (${version}): ${scopes.join(", ")}`);
  }
} finally {
  rmSync(place, { recursive: true, force: true });
}
