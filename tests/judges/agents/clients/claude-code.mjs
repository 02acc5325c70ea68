// Claude Code: its print mode, and its terminal interface in the plain form for screen readers.

import { Printing, Terminal } from "../session.mjs";

const KEY = "sk-judge";
const DOWN = "\x1b[B";
const ARGS = ["--model", "claude-opus-4-8", "--allowedTools", "mcp__haft"];

/** `negotiation` is its variable that decides whether it speaks 2026-07-28 with servers that can. */
export const claudeCode = (name, negotiation) => ({
  name,
  id: "claude-code",
  program: "claude",

  prepare(place) {
    place.write(".claude.json", {
      hasCompletedOnboarding: true,
      theme: "dark",
      customApiKeyResponses: { approved: [KEY], rejected: [] },
      projects: { [place.project]: { hasTrustDialogAccepted: true } },
    });
  },

  env: (place) => ({
    ANTHROPIC_BASE_URL: place.url,
    ANTHROPIC_API_KEY: KEY,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_AUTOUPDATER: "1",
    MCP_PROTOCOL_NEGOTIATION: negotiation,
  }),

  once(path, place, prompt) {
    return new Printing(path, ["-p", ...ARGS, "--", prompt], place, this.env(place));
  },

  async open(path, place, timeout) {
    const session = new Terminal(path, ["--ax-screen-reader", ...ARGS], place, this.env(place));
    await session.sees("/effort", timeout);
    return Object.assign(session, {
      async submit(prompt) {
        session.type(prompt);
        // Enter within a burst of keys would be taken for a pasted line.
        await session.sees(prompt, timeout);
        session.type("\r");
      },
      // The form has one field, which is set, and below it the buttons.
      async agree() {
        await session.sees("Accept", timeout);
        session.type(DOWN);
        await session.sees("❯  Accept", timeout);
        session.type("\r");
      },
      enter: () => session.type("\r"),
      interrupt: () => session.type("\x1b"),
    });
  },
});
