// `pi-coding-agent`: the namespace that tools import and that is also `pi.pi`.
//
// It returns members of the other packages without loading them before their first use, so each
// export is a getter. Members that need a running agent throw a clear message when they are used.

import * as zod from "zod";
import { builtin, shared } from "../builtin.ts";
// For the type of `StringEnum`, which is an addition of ours.
import type {} from "../typebox/type.ts";
import { standIns, unavailable } from "../unavailable.ts";
import { AGENT_MEMBERS } from "./agent-members.ts";
import { createBashTool } from "./builtin-bash.ts";
import {
  type BuiltinTool,
  createEditTool,
  createLsTool,
  createReadTool,
  createWriteTool,
} from "./builtin-files.ts";
import { createFindTool, createGrepTool } from "./builtin-search.ts";

export {
  BorderedLoader,
  Box,
  Container,
  DynamicBorder,
  getEditorTheme,
  getLanguageFromPath,
  getMarkdownTheme,
  getSelectListTheme,
  getSettingsListTheme,
  highlightCode,
  initTheme,
  keyHint,
  keyText,
  Markdown,
  rawKeyHint,
  Spacer,
  Text,
  Theme,
  theme,
  truncateToWidth,
  visibleWidth,
} from "@oh-my-pi/pi-tui";
export { StringEnum, Type } from "@sinclair/typebox";
export { z } from "zod";
export { createBashTool, createLocalBashOperations } from "./builtin-bash.ts";
export {
  createEditTool,
  createLsTool,
  createReadTool,
  createWriteTool,
} from "./builtin-files.ts";
export { createFindTool, createGrepTool } from "./builtin-search.ts";
export * from "./custom-tool.ts";
export * from "./diff.ts";
export { CONFIG_DIR_NAME, getAgentDir, VERSION } from "./facts.ts";
export * from "./messages.ts";
export { SessionManager, Settings } from "./session.ts";
export * from "./truncate.ts";
export * from "./utilities.ts";
export { zod };

const REASON = "haft runs tools and has no agent of its own";
const noAgent = (name: string) => unavailable("pi-coding-agent", name, REASON);

export const createAgentSession = noAgent("createAgentSession");
export const discoverAndLoadCustomTools = noAgent("discoverAndLoadCustomTools");
export const loadCustomTools = noAgent("loadCustomTools");
export const AuthStorage = noAgent("AuthStorage");
export const ModelRegistry = noAgent("ModelRegistry");
export const compact = noAgent("compact");
export const copyToClipboard = noAgent("copyToClipboard");

/** The tools with which pi begins. */
export const createCodingTools = (cwd: string): BuiltinTool[] => [
  createReadTool(cwd),
  createBashTool(cwd),
  createEditTool(cwd),
  createWriteTool(cwd),
];

/** Those that change nothing. */
export const createReadOnlyTools = (cwd: string): BuiltinTool[] => [
  createReadTool(cwd),
  createGrepTool(cwd),
  createFindTool(cwd),
  createLsTool(cwd),
];

// Newer names of the same: a definition is what `registerTool` takes.
export {
  createBashTool as createBashToolDefinition,
  createEditTool as createEditToolDefinition,
  createFindTool as createFindToolDefinition,
  createGrepTool as createGrepToolDefinition,
  createLsTool as createLsToolDefinition,
  createReadTool as createReadToolDefinition,
  createWriteTool as createWriteToolDefinition,
};

/** The folder in which the tools without one of their own work. */
const folder = (): string => builtin("node:process").cwd();

/** Exports that are looked up when they are asked for. */
export const __getters = {
  ...standIns("pi-coding-agent", REASON, AGENT_MEMBERS),
  readTool: () => createReadTool(folder()),
  bashTool: () => createBashTool(folder()),
  editTool: () => createEditTool(folder()),
  writeTool: () => createWriteTool(folder()),
  grepTool: () => createGrepTool(folder()),
  findTool: () => createFindTool(folder()),
  lsTool: () => createLsTool(folder()),
  codingTools: () => createCodingTools(folder()),
  readOnlyTools: () => createReadOnlyTools(folder()),
  logger: () => shared("logger"),
  settings: () => shared("settings"),
};
