// The dialects of modules, as data, and the types of what they read and return. docs/dialects.md and
// `haft doctor` say the same.
//
// The order is that of precedence: a module that fits several dialects belongs to the first.

import type { ArgumentOrder } from "ext:haft/18_order.ts";

/** Facts about a dialect. */
export interface DialectFacts {
  /** Name for people. */
  readonly name: string;
  /** Places where its modules are found without being named. */
  readonly places: string;
  /** Names of its tools. */
  readonly names: string;
  /** Reason for which a module belongs to it. */
  readonly because: string;
  /** Folder of a case that runs an example. */
  readonly example: string;
}

const facts = <T extends Record<string, DialectFacts>>(table: T): T => table;

export const DIALECTS = facts({
  copilot: {
    name: "GitHub Copilot extension",
    places: "`.github/extensions/NAME/extension.mjs`, `~/.copilot/extensions`",
    names: "`name`",
    because: "it joins a Copilot session",
    example: "tests/specs/dialects/copilot",
  },
  opencodePlugin: {
    name: "opencode plugin, version 1",
    places: "`plugin` and `plugins` beside opencode's tools, `plugin` in `opencode.json`",
    names: "the key in `tool`",
    because: "opencode takes it for a plugin, or its default export takes `{client, directory, …}`",
    example: "tests/specs/dialects/opencode-plugin",
  },
  pi: {
    name: "pi extension",
    places:
      "`~/.pi/agent/extensions`, `.pi/extensions`, packages and extensions in `settings.json` of pi",
    names: "`name`",
    because: "its default export is a function that registers something with `pi`",
    example: "tests/specs/dialects/pi-extension",
  },
  ohMyPi: {
    name: "oh-my-pi",
    places: "[discovery.md](discovery.md)",
    names: "`name`",
    because: "its default export is a function that returns tools",
    example: "tests/specs/js",
  },
  openclaw: {
    name: "OpenClaw plugin",
    places: "",
    names: "`name`",
    because: "it exports an entry with `register`",
    example: "tests/specs/dialects/openclaw",
  },
  opencode: {
    name: "opencode tool",
    places:
      "`tool` and `tools` in `.opencode` (up to the root of the repository) and in `~/.config/opencode`",
    names: "the file, or `file_export`",
    because: "it exports objects with `args` and `execute`",
    example: "tests/specs/dialects/opencode-tools",
  },
  claudeAgentSdk: {
    name: "Claude Agent SDK: `tool`, `createSdkMcpServer`",
    places: "`.claude/tools`, `~/.claude/tools` (a convention of haft)",
    names: "`name`",
    because: "it has objects with `inputSchema` and `handler`, or a server of them",
    example: "tests/specs/dialects/claude-sdk",
  },
  aiSdk: {
    name: "AI SDK: `tool`, `dynamicTool`",
    places: "",
    names: "the export, or its key in a record",
    because: "it exports objects with `inputSchema` and `execute`",
    example: "tests/specs/dialects/ai-sdk",
  },
  others: {
    name: "OpenAI Agents SDK, LangChain, Mastra",
    places: "",
    names: "`name`, `name`, `id`",
    because: "it exports tools of that library",
    example: "tests/specs/dialects/libraries",
  },
});

export type DialectId = keyof typeof DIALECTS;

/** A module that was imported. */
export interface ImportedModule {
  /** The exports. Those of a CommonJS module are properties of `default`, too. */
  readonly namespace: Record<string, any>;
  /** The default export, if it is a function. */
  readonly factory: ((api: unknown) => unknown) | undefined;
  /** Path of its file. */
  readonly path: string;
  /** Rest of its address, with the `?`; empty without one. */
  readonly query: string;
}

/** Tool of a module. */
export interface OfferedTool {
  /** In the contract of oh-my-pi. Of any type: a value that is no tool is refused later. */
  readonly tool: any;
  /** The order of the arguments of `execute`, if the dialect fixes it. */
  readonly order?: ArgumentOrder;
  /** Changes the arguments before they are checked. */
  readonly prepare?: ((args: unknown) => unknown) | undefined;
}

/** Everything that a module offers. */
export interface Offered {
  readonly dialect: DialectId;
  readonly tools: readonly OfferedTool[];
  /** Numbers of the other things that the module registers, by kind, e.g. `hook`. */
  readonly unserved?: Readonly<Record<string, number>>;
}
