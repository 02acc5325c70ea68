// How to connect a coding agent: the commands that write its configuration, and the entry itself.

import { hasToken } from "./api.ts";
import { el, fill, freshId } from "./dom.ts";
import { copyButton } from "./result.ts";

const AGENTS = [
  ["claude-code", "Claude Code"],
  ["codex", "Codex"],
  ["cursor", "Cursor"],
  ["vscode", "VS Code"],
  ["opencode", "opencode"],
  ["gemini", "Gemini CLI"],
  ["copilot", "Copilot CLI"],
  ["pi", "pi"],
  ["omp", "oh-my-pi"],
  ["goose", "goose"],
  ["zed", "Zed"],
  ["kilo", "Kilo Code"],
  ["roo", "Roo Code"],
  ["cline", "Cline"],
  ["windsurf", "Windsurf"],
] as const;

export function connectElement(): HTMLElement {
  const id = freshId("agent");
  const shown = el("div.stack");
  const choice = el(
    "select",
    { id, on: { change: draw } },
    ...AGENTS.map(([value, text]) => el("option", { value }, text)),
  );
  function draw(): void {
    const url = `${location.origin}/mcp`;
    const token = hasToken() ? "" : " --no-token";
    fill(
      shown,
      el("p.calm", "The agent starts its own haft in the project:"),
      command(`haft agents config ${choice.value} --write`),
      el("p.calm", "Or it connects to this server, if `haft serve` runs it:"),
      command(`haft agents config ${choice.value} --url ${url}${token} --write`),
      el("p.calm", "For other MCP clients:"),
      command(entry(url)),
    );
  }
  draw();
  return el(
    "section.stack",
    el("h2", "Connect an agent"),
    el("div.bar", el("label", { for: id }, "Agent"), choice),
    shown,
  );
}

function command(text: string): HTMLElement {
  return el("div.command", el("pre.text", { tabindex: "0" }, text), copyButton(text));
}

/** Returns an entry in the form that most clients read. The token stays in a variable. */
function entry(url: string): string {
  const headers = hasToken() ? { headers: { Authorization: `Bearer $\{HAFT_TOKEN}` } } : {};
  return JSON.stringify({ mcpServers: { haft: { type: "http", url, ...headers } } }, null, 2);
}
