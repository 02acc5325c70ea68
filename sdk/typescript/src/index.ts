// The package `haft`: tools for LLM agents in programs.

import { resolve } from "node:path";

import * as adapters from "./adapters/index.js";
import { findBinary } from "./binary.js";
import { type AdapterOptions, Client } from "./client.js";
import { HaftError } from "./errors.js";
import type { Events } from "./events.js";
import { list } from "./names.js";
import type { Spawned } from "./process.js";
import type { ToolDefinition } from "./program.js";
import type {
  ApprovalHandler,
  AskHandler,
  CallOptions,
  Problem,
  RunDetails,
  RunOptions,
  ToolInfo,
  ToolInput,
  ToolName,
  ToolOutput,
  ToolResult,
} from "./types.js";

/**
 * Types of the tools. `haft types` prints a declaration that is merged with it:
 * `declare module "haft" { interface Tools { "git_log": { input: …; output: … } } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: declarations of programs are merged with it
export interface Tools {}

/** Rule of approval: which tiers run without a question. */
export type ApprovalMode = "always-ask" | "write" | "yolo";

export interface Limits {
  callTimeoutMs?: number;
  loadTimeoutMs?: number;
  heapMb?: number;
  /** Text of a result beyond this goes to a file; 0 means no limit. */
  spillKb?: number;
}

/** Options that all ways to start haft have. */
export interface HostOptions {
  /** The folder of the project; the working directory without it. */
  cwd?: string;
  /** Run the tools that the project brings, without asking the user. */
  trust?: boolean;
  /** Offer only the tools of these sets of the configuration. */
  toolset?: string | readonly string[];
  /** Offer only tools whose names match one of these patterns. */
  include?: string | readonly string[];
  /** Do not offer tools whose names match one of these patterns. */
  exclude?: string | readonly string[];
  /** Further tool files and folders. */
  paths?: readonly string[];
  /** Offer haft's own tools too: bash, file_read, file_write, file_edit, glob, grep. */
  systemTools?: boolean;
  /** Tools of this program. */
  tools?: readonly ToolDefinition[];
  isolation?: "process" | "sandbox";
  limits?: Limits;
  approvalMode?: ApprovalMode;
  /** Patterns of tools that run without a question (`tool:read`, `git_*`), or `true` for all. */
  autoApprove?: true | readonly string[];
  /** Patterns of tools that are refused. */
  autoDeny?: readonly string[];
  /** This configuration file instead of the user's. */
  config?: string;
  /** Watch the files of tools and report changes; true without it. */
  watch?: boolean;
  /** Variables for haft and its tools, over those of this process; `undefined` removes one. */
  env?: Record<string, string | undefined>;
  /** Path of haft's program. */
  binary?: string;
  /** Further options of haft's command line (`haft --help`). */
  args?: readonly string[];
  /** Receiver of haft's standard error, to which tools write their logs; ignored without it. */
  stderr?: "inherit" | "ignore" | ((text: string) => void);
}

export interface HaftOptions extends HostOptions {
  /** Names that tools cannot have, because this program uses them itself. */
  reservedNames?: readonly string[];
  /** Answers questions of tools in calls without an `onAsk` of their own. */
  onAsk?: AskHandler;
  /** Decides about calls that need approval. Without it they are refused. */
  onApproval?: ApprovalHandler;
}

export interface McpOptions extends HostOptions {
  /** Ends haft and this program on SIGINT, SIGTERM and SIGHUP; true without it. */
  signals?: boolean;
}

export interface ServeOptions extends McpOptions {
  /** `HOST:PORT`, `PORT`, `unix:/PATH` or `unix`; a free port of this machine without it. */
  listen?: string;
  /** Only MCP or only REST; both without it. */
  only?: "mcp" | "rest";
  /** A file with the token that clients must send. */
  tokenFile?: string;
  /** Want no token: every program of this machine may then call the tools. */
  noToken?: boolean;
  allowHosts?: readonly string[];
  allowOrigins?: readonly string[];
}

/** A running haft: its tools, their calls, and the adapters for agent frameworks. */
export class Haft implements AsyncDisposable {
  readonly #client: Client;
  /** The address of the server, of `haft.serve()`. */
  readonly url: string | undefined;

  /** @internal */
  constructor(client: Client, url?: string) {
    this.#client = client;
    this.url = url;
  }

  /** Process id of haft. */
  get pid(): number | undefined {
    return this.#client.pid;
  }

  /** Changes of the list, problems, messages of tools, the end of haft. */
  get events(): Events {
    return this.#client.events;
  }

  /** Problems of tools, as of the newest list. */
  get problems(): readonly Problem[] {
    return this.#client.problems;
  }

  /** Resolves when haft's process has ended. Never rejects. */
  get ended(): Promise<{ code: number | null; signal: string | null }> {
    return this.#client.exited;
  }

  /** Returns the tools. Adapters use the list of the start, kept up to date while files are watched. */
  async list(): Promise<readonly ToolInfo[]> {
    return await this.#client.refreshList();
  }

  /** Looks for all tools again and returns them. */
  async refresh(): Promise<readonly ToolInfo[]> {
    await this.#client.request("tools/refresh");
    return await this.#client.refreshList();
  }

  /**
   * Calls a tool. A failure that a model should read is a result with `isError`; a failure of haft rejects with a
   * {@link HaftError}.
   */
  async call<Name extends ToolName>(
    name: Name,
    args?: ToolInput<Name>,
    options?: CallOptions,
  ): Promise<ToolResult<ToolOutput<Name>>> {
    return await this.#client.call<Name>(name, args, options);
  }

  /**
   * Runs a script that calls tools: the body of an async function in TypeScript, with the global `tools`. Its value
   * is in `details.value`, its text is for a model. A script that fails is a result with `isError`.
   */
  async run(code: string, options?: RunOptions): Promise<ToolResult<RunDetails>> {
    return await this.#client.runCode(code, options);
  }

  /** Finds the tools that scripts can call: their declarations, as text for a model. Without words: the groups. */
  async search(
    query = "",
    options: { limit?: number; detail?: "names" | "types" } = {},
  ): Promise<string> {
    const { content } = await this.#client.request("code/search", { query, ...options });
    return content[0]?.text ?? "";
  }

  /** Returns what is wrong with the arguments of a tool, or `undefined`. The tool is not started. */
  async validate(name: ToolName, args: unknown = {}): Promise<string | undefined> {
    const { error } = await this.#client.request("tools/validate", { name, arguments: args });
    return error;
  }

  /** Replaces the tools of this program. Returns what is wrong with them. */
  async register(tools: readonly ToolDefinition[]): Promise<readonly Problem[]> {
    const problems = await this.#client.register(tools);
    await this.#client.refreshList();
    return problems;
  }

  /** Ends haft: running calls are cancelled, and its process is gone when the promise resolves. */
  close(): Promise<void> {
    return this.#client.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Tools for the Vercel AI SDK: `generateText({ model, tools: tools.aiSdk() })`. */
  aiSdk(options: AdapterOptions = {}): Record<string, adapters.AiSdkTool> {
    return adapters.aiSdkTools(this.#client, options);
  }

  /** Tools for `client.beta.messages.toolRunner({ tools: tools.anthropic() })`. */
  anthropic(options: AdapterOptions = {}): adapters.AnthropicTool[] {
    return adapters.anthropicTools(this.#client, options);
  }

  /** Tools for `client.chat.completions.runTools({ tools: tools.openai() })` and `create`. */
  openai(options: AdapterOptions = {}): adapters.OpenAiChatTool[] {
    return adapters.openAiChatTools(this.#client, options);
  }

  /** Tools for `client.responses.create({ tools: tools.openaiResponses() })`; `runOpenai` runs their calls. */
  openaiResponses(options: AdapterOptions = {}): adapters.OpenAiResponsesTool[] {
    return adapters.openAiResponsesTools(this.#client, options);
  }

  /** Runs a tool call of an OpenAI model. Returns the item or message for the next request. */
  runOpenai(
    call: Extract<adapters.OpenAiCall, { call_id: string }>,
    options?: AdapterOptions & { signal?: AbortSignal },
  ): Promise<adapters.OpenAiFunctionOutput>;
  runOpenai(
    call: Extract<adapters.OpenAiCall, { function: object }>,
    options?: AdapterOptions & { signal?: AbortSignal },
  ): Promise<adapters.OpenAiToolMessage>;
  runOpenai(
    call: adapters.OpenAiCall,
    options: AdapterOptions & { signal?: AbortSignal } = {},
  ): Promise<any> {
    return adapters.runOpenAi(this.#client, call, options);
  }

  /** Tools for `new Agent({ tools: tools.agents() })` of `@openai/agents`. */
  agents(options: AdapterOptions = {}): adapters.AgentsTool[] {
    return adapters.agentsTools(this.#client, options);
  }

  /** Tools for LangChain, made by its function `tool`: `createAgent({ tools: tools.langchain(tool) })`. */
  langchain<Tool>(factory: adapters.LangChainFactory<Tool>, options: AdapterOptions = {}): Tool[] {
    return adapters.langChainTools(this.#client, factory, options);
  }

  /** A server for `query({ options: { mcpServers: { haft: tools.claudeAgent() } } })` of the Claude Agent SDK. */
  claudeAgent(options: AdapterOptions & { name?: string } = {}): adapters.ClaudeAgentServer {
    return adapters.claudeAgentServer(this.#client, options);
  }

  /** Tools for `createAgentSession({ customTools: tools.omp() })` of oh-my-pi. */
  omp(options: AdapterOptions = {}): adapters.OmpTool[] {
    return adapters.ompTools(this.#client, options);
  }

  /** Tools for `createAgentSession({ customTools: tools.pi() })` of pi. */
  pi(options: AdapterOptions = {}): adapters.PiTool[] {
    return adapters.piTools(this.#client, options);
  }
}

/** Requests of haft that the client answers. Calls without a handler for questions say so. */
const CAPABILITIES = { approval: true, ui: true };

/** Starts haft and finds the tools. */
async function start(options: HaftOptions = {}): Promise<Haft> {
  const { args, ...spawned } = prepared(options);
  const client = new Client(
    {
      ...spawned,
      mode: "rpc",
      args: [...args, "rpc", ...(options.watch === false ? ["--no-watch"] : [])],
    },
    { onAsk: options.onAsk, onApproval: options.onApproval },
  );
  return await opened(client, async () => {
    await client.request("initialize", {
      limits: options.limits,
      approvalMode: options.approvalMode,
      builtInToolNames: options.reservedNames,
      toolsets: list(options.toolset),
      include: list(options.include),
      exclude: list(options.exclude),
      capabilities: CAPABILITIES,
    });
    if (options.tools !== undefined) await client.register(options.tools);
    await client.refreshList();
    return new Haft(client);
  });
}

/**
 * Makes this program an MCP server of its own tools and of those that haft finds, on its standard input and output.
 * `ended` of the result resolves when the client is gone.
 */
async function mcp(options: McpOptions = {}): Promise<Haft> {
  const { args, ...spawned } = prepared(options);
  const client = new Client(
    {
      ...spawned,
      mode: "mcp",
      // Standard output belongs to the protocol; what haft reports belongs to the client's log.
      stderr: options.stderr ?? "inherit",
      args: [...args, "--rpc-fd", "3", "mcp", ...serverFlags(options), ...selectionFlags(options)],
    },
    { onAsk: undefined, onApproval: undefined },
  );
  if (options.signals !== false) passSignals(client);
  return await opened(client, async () => {
    await registered(client, options.tools);
    return new Haft(client);
  });
}

/** Serves the tools of this program and those that haft finds over HTTP. `url` is the address. */
async function serve(options: ServeOptions = {}): Promise<Haft> {
  const { only } = options;
  if (only !== "mcp" && (options.toolset ?? options.include ?? options.exclude) !== undefined) {
    throw new HaftError("usage", '`toolset`, `include` and `exclude` need `only: "mcp"`');
  }
  const { args, ...spawned } = prepared(options);
  let output = "";
  let listening: (url: string) => void;
  const url = new Promise<string>((resolve) => {
    listening = resolve;
  });
  const client = new Client(
    {
      ...spawned,
      mode: "serve",
      stderr: (text) => {
        if (typeof options.stderr === "function") options.stderr(text);
        else if (options.stderr === "inherit") process.stderr.write(text);
        if (output.length > 100_000) return;
        output += text;
        const found = /^listening on (\S+)/m.exec(output);
        if (found) listening(found[1]!);
      },
      args: [
        ...args,
        "--rpc-fd",
        "3",
        "serve",
        ...(only === undefined ? [] : [only]),
        ...serverFlags(options),
        ...(only === "mcp" ? selectionFlags(options) : []),
        "--listen",
        options.listen ?? "127.0.0.1:0",
        ...(options.tokenFile === undefined ? [] : ["--token-file", resolve(options.tokenFile)]),
        ...(options.noToken ? ["--no-token"] : []),
        ...(options.allowHosts ?? []).flatMap((host) => ["--allow-host", host]),
        ...(options.allowOrigins ?? []).flatMap((origin) => ["--allow-origin", origin]),
      ],
    },
    { onAsk: undefined, onApproval: undefined },
  );
  if (options.signals !== false) passSignals(client);
  return await opened(client, async () => {
    await registered(client, options.tools);
    // The request fails with the reason if haft ends before it listens.
    const failed = client.exited.then(() => client.request("tools/status"));
    return new Haft(client, await Promise.race([url, failed]));
  });
}

/** Registers the tools, reads the list, and ends haft if something fails. */
async function opened<T>(client: Client, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    await client.close();
    throw error;
  }
}

/** Registers the tools of a server, whose first list waits for that. */
async function registered(client: Client, tools: readonly ToolDefinition[] = []): Promise<void> {
  try {
    await client.request("initialize", { capabilities: CAPABILITIES });
    await client.register(tools);
  } catch (error) {
    // A client that was satisfied at once is not a failure of the program.
    const isOver = error instanceof HaftError && error.kind === "ended";
    if (!isOver || (await client.exited).code !== 0) throw error;
  }
}

/** Returns what all modes have in common. */
function prepared(options: HostOptions): Omit<Spawned, "mode"> {
  const env = { ...process.env, ...options.env };
  const args = [
    ...(options.cwd === undefined ? [] : ["--cwd", resolve(options.cwd)]),
    ...(options.trust ? ["--trust-project"] : []),
    ...(options.systemTools ? ["--system-tools"] : []),
    ...(options.paths ?? []).flatMap((path) => ["--tool", resolve(path)]),
    ...(options.config === undefined ? [] : ["--config", resolve(options.config)]),
    ...(options.isolation === undefined ? [] : ["--isolation", options.isolation]),
    ...approvals(options),
    ...(options.args ?? []),
  ];
  const program = findBinary(options.binary, env);
  return { program, args, env, stderr: options.stderr ?? "ignore" };
}

function approvals({ autoApprove, autoDeny }: HostOptions): string[] {
  const approved = autoApprove === true ? ["*"] : (autoApprove ?? []);
  return [
    ...approved.map((pattern) => `--auto-approve=${pattern}`),
    ...(autoDeny ?? []).map((pattern) => `--auto-deny=${pattern}`),
  ];
}

/** Flags of `haft mcp` and `haft serve`. */
function serverFlags({ approvalMode, watch, limits }: HostOptions): string[] {
  if (limits !== undefined) {
    throw new HaftError("usage", "`limits` of a server are set in config.yaml or by `env`");
  }
  return [
    ...(approvalMode === undefined ? [] : ["--approval-mode", approvalMode]),
    ...(watch === false ? ["--no-watch"] : []),
  ];
}

function selectionFlags({ toolset, include, exclude }: HostOptions): string[] {
  return [
    ...list(toolset).flatMap((name) => ["--toolset", name]),
    ...list(include).flatMap((pattern) => ["--include", pattern]),
    ...list(exclude).flatMap((pattern) => ["--exclude", pattern]),
  ];
}

/** Ends haft, and then this program, on a signal that only this program got. */
function passSignals(client: Client): void {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const handlers = signals.map((signal) => {
    const handler = () => client.kill(signal);
    process.on(signal, handler);
    return { signal, handler };
  });
  let received: NodeJS.Signals | undefined;
  for (const signal of signals) process.once(signal, () => (received = signal));
  void client.exited.then(() => {
    for (const { signal, handler } of handlers) process.off(signal, handler);
    if (received !== undefined && process.listenerCount(received) === 0) {
      process.kill(process.pid, received);
    }
  });
}

export const haft: {
  (options?: HaftOptions): Promise<Haft>;
  mcp: typeof mcp;
  serve: typeof serve;
} = Object.assign(start.bind(undefined), { mcp, serve });

export type {
  AgentsTool,
  AiSdkTool,
  AnthropicTool,
  ClaudeAgentServer,
  OmpTool,
  OpenAiCall,
  OpenAiChatTool,
  OpenAiFunctionOutput,
  OpenAiResponsesTool,
  OpenAiToolMessage,
  PiTool,
} from "./adapters/index.js";
export { findBinary } from "./binary.js";
export type { AdapterOptions } from "./client.js";
export { HaftError, type HaftErrorKind, ToolError } from "./errors.js";
export type { Events } from "./events.js";
export {
  type Ask,
  defineTool,
  type ExecuteContext,
  image,
  type ProgramResult,
  type ProgramUpdate,
  type ToolDefinition,
} from "./program.js";
export type { ArgumentsOf, JsonSchema, Schema, StandardSchema } from "./schema.js";
export type * from "./types.js";
