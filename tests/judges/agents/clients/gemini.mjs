// Gemini CLI: its headless mode, and its terminal interface in the form for screen readers.

import { Printing, Terminal } from "../session.mjs";

/** It drops the result, and the call goes on until it ends or the agent does. */
const UNCANCELLED = "it sends no notifications/cancelled (googleapis/js-genai#1054)";
const SETTINGS_FILE = ".gemini/settings.json";
const SETTINGS = {
  security: { auth: { selectedType: "gemini-api-key" } },
  general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
  privacy: { usageStatisticsEnabled: false },
};
const ARGS = ["--approval-mode", "yolo", "-m", "gemini-2.5-flash"];

export const gemini = {
  name: "Gemini CLI",
  id: "gemini",
  program: "gemini",
  limits: {
    question: { shows: /there is no user interface/, why: "it declares no elicitation" },
    cancellation: {
      shows: /"aborted" in the tool's log: not within/,
      why: UNCANCELLED,
    },
    "cancelled child": {
      shows: /the end of the tool's program: not within/,
      why: UNCANCELLED,
    },
  },

  prepare(place) {
    place.write(SETTINGS_FILE, SETTINGS);
  },

  /** Offers haft's tools by commands, without MCP. The call command is a program without arguments. */
  offerByCommands(place, haft, tools) {
    const call = place.program("haft-call", `exec "${haft}" --tool "${tools}" call "$1" -`);
    const discovery = `"${haft}" --tool "${tools}" list --for gemini`;
    place.write(SETTINGS_FILE, {
      ...SETTINGS,
      tools: { discoveryCommand: discovery, callCommand: call },
    });
  },

  env: (place) => ({
    GEMINI_API_KEY: "judge",
    GOOGLE_GEMINI_BASE_URL: place.url,
    GEMINI_CLI_TRUST_WORKSPACE: "true",
  }),

  once(path, place, prompt) {
    return new Printing(path, [...ARGS, "-p", prompt], place, this.env(place));
  },

  async open(path, place, timeout) {
    const session = new Terminal(path, ["--screen-reader", ...ARGS], place, this.env(place));
    await session.sees("1 MCP server", timeout);
    return Object.assign(session, {
      async submit(prompt) {
        session.type(prompt);
        await session.sees(prompt, timeout);
        session.type("\r");
      },
      enter: () => session.type("\r"),
      interrupt: () => session.type("\x1b"),
    });
  },
};
