// The data that haft and the program exchange (docs/rpc.md).

import type { HaftError } from "./errors.js";
import type { Tools } from "./index.js";
import type { JsonSchema } from "./schema.js";

/** Names of the declared tools; any name if none is declared. */
export type ToolName = keyof Tools extends never ? string : (keyof Tools & string) | (string & {});

/** Arguments of a tool. */
export type ToolInput<Name extends string> = Name extends keyof Tools
  ? Tools[Name] extends { input: infer Input }
    ? Input
    : Record<string, any>
  : Record<string, any>;

/** Structured output of a tool: its `details`. */
export type ToolOutput<Name extends string> = Name extends keyof Tools
  ? Tools[Name] extends { output: infer Output }
    ? Output
    : any
  : any;

/** Harm that a call may do. */
export type Tier = "read" | "write" | "exec";

export interface TextContent {
  type: "text";
  text: string;
}

export interface ImageContent {
  type: "image";
  /** Base64. */
  data: string;
  mimeType: string;
}

export type Content = TextContent | ImageContent;

/** A tool in the list. */
export interface ToolInfo {
  name: string;
  label: string;
  description: string;
  family: string;
  level: string;
  path?: string;
  inputSchema: JsonSchema;
  outputSchema?: JsonSchema;
  approval: Tier;
  /** Not meant for models. */
  hidden: boolean;
  /** False for a tool of a project that the user has not trusted. It cannot be called. */
  trusted: boolean;
  [key: string]: unknown;
}

/** Something that is wrong with a tool or a file. */
export interface Problem {
  severity: "info" | "warning" | "error";
  message: string;
  path?: string;
  line?: number;
  column?: number;
  toolName?: string;
  hint?: string;
  [key: string]: unknown;
}

/** A partial result of a running call. */
export interface ToolUpdate {
  content: Content[];
  details: any;
  isError?: boolean;
}

export interface ToolResult<Details = any> {
  content: Content[];
  details: Details;
  /** The tool reports a failure, or was stopped. */
  isError: boolean;
  /** The result is of no use to a model. */
  useless?: boolean;
  durationMs: number;
  /** Reason of the stop: `deadline`, `cancelled`, `discarded`, `host-shutdown`. */
  stopped?: string;
  /** The text of all text blocks. */
  text: string;
}

/** A question of a tool to the user. */
export interface Question {
  method: "select" | "confirm" | "input" | "editor";
  tool: string;
  callId?: string;
  title: string;
  /** `select`: the choices. */
  options?: string[];
  /** `confirm`: the text below the title. */
  message?: string;
  /** `input` */
  placeholder?: string;
  /** `editor`: the text to begin with. */
  prefill?: string;
  timeoutMs?: number;
  /** Fires when the answer is not needed any more. */
  signal: AbortSignal;
}

/** Returns the choice, the text, or true or false; `undefined` if the user dismisses the question. */
export type AskHandler = (
  question: Question,
) => string | boolean | undefined | Promise<string | boolean | undefined>;

/** A call that needs the user's approval. */
export interface ApprovalRequest {
  callId: string;
  tool: string;
  tier: Tier;
  reason?: string;
  details?: string;
  arguments: any;
  /** The tool that makes the call, if a tool makes it. */
  caller?: string;
  /** The complete question, safe to show at a terminal. */
  text: string;
  /** Fires when the answer is not needed any more. */
  signal: AbortSignal;
}

/** Returns true to approve the call. */
export type ApprovalHandler = (request: ApprovalRequest) => boolean | Promise<boolean>;

export interface CallOptions {
  /** Cancels the call: its promise rejects with the signal's reason at once, and the tool is stopped. */
  signal?: AbortSignal;
  onUpdate?: (update: ToolUpdate) => void;
  /** Answers the questions of this call. Without it and without that of `haft()`, `pi.hasUI` is false. */
  onAsk?: AskHandler;
  onApproval?: ApprovalHandler;
  timeoutMs?: number;
}

/** Options of `run`: those of a call, and those of the script. */
export interface RunOptions extends CallOptions {
  /** The global `args` of the script. */
  args?: Record<string, unknown>;
  /** Time that the script itself may take; waits for tools do not count. */
  ownTimeMs?: number;
  /** Length of the text of the result; a file gets the whole of a longer one. */
  maxOutputTokens?: number;
}

/** Details of the result of a script. */
export interface RunDetails {
  /** Id of the recorded run, for `haft new NAME --from-run ID`. */
  run: string | null;
  /** The value of the script, if it has one. */
  value?: unknown;
  /** The calls that it made, in order. */
  calls: { tool: string; state: "done" | "failed" | "refused" }[];
}

/** Event of the list of tools or of haft. */
export type HaftEvent =
  | {
      type: "changed";
      added: string[];
      removed: string[];
      changed: string[];
      reloaded: string[];
      tools: ToolInfo[];
    }
  | { type: "problems"; problems: Problem[]; solved: Problem[] }
  | {
      type: "notify";
      tool: string;
      callId?: string;
      message: string;
      level: "info" | "warning" | "error";
    }
  | { type: "status"; tool: string; callId?: string; key: string; text: string | null }
  | { type: "editorText"; tool: string; callId?: string; text: string }
  /** A handler of the program threw outside of a call, or the list could not be read. */
  | { type: "error"; error: Error }
  /** haft ended. `error.kind` is `closed` after `close()`. The last event. */
  | { type: "ended"; error: HaftError };
