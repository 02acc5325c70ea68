// The client: a haft process, its tools and their calls.

import { onAbort } from "./aborts.js";
import type { Connection, Handlers } from "./connection.js";
import { HaftError, textOf } from "./errors.js";
import { Events } from "./events.js";
import type { Selected } from "./names.js";
import { HaftProcess, type Spawned } from "./process.js";
import { ProgramTools, type ToolDefinition } from "./program.js";
import type {
  ApprovalHandler,
  ApprovalRequest,
  AskHandler,
  CallOptions,
  Problem,
  Question,
  RunDetails,
  RunOptions,
  ToolInfo,
  ToolInput,
  ToolOutput,
  ToolResult,
  ToolUpdate,
} from "./types.js";

/** Options that the client itself needs. */
export interface ClientOptions {
  onAsk: AskHandler | undefined;
  onApproval: ApprovalHandler | undefined;
}

interface Running {
  options: CallOptions;
  /** Ends the call for the program: its promise rejects. */
  fail(error: unknown): void;
}

/** Questions by the id of haft's request. */
type Open = Map<string, AbortController>;

export class Client {
  readonly events: Events;
  readonly program = new ProgramTools();
  readonly #options: ClientOptions;
  readonly #process: HaftProcess;
  readonly #connection: Connection;
  readonly #running = new Map<string, Running>();
  readonly #questions: Open = new Map();
  #tools: ToolInfo[] = [];
  #problems: Problem[] = [];
  #lastCall = 0;
  #closing: Promise<void> | undefined;

  constructor(spawned: Spawned, options: ClientOptions) {
    this.#options = options;
    const handlers: Handlers = {
      request: (method, params, id) => this.#request(method, params, id),
      notification: (method, params) => this.#notification(method, params),
      ended: (error) => this.#ended(error),
    };
    try {
      this.#process = new HaftProcess(spawned, handlers);
    } catch (error) {
      const text = `cannot start \`${spawned.program}\`: ${textOf(error)}`;
      throw new HaftError("no-binary", text, undefined, error);
    }
    this.#connection = this.#process.connection;
    this.events = new Events(() => this.#connection.hold());
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  get exited(): Promise<{ code: number | null; signal: string | null }> {
    return this.#process.exited;
  }

  /** The tools of the newest list. */
  get tools(): readonly ToolInfo[] {
    return this.#tools;
  }

  get problems(): readonly Problem[] {
    return this.#problems;
  }

  request(method: string, params?: unknown): Promise<any> {
    return this.#connection.request(method, params);
  }

  /** Registers the program's tools; their problems are in `problems` from then on. */
  async register(tools: readonly ToolDefinition[]): Promise<Problem[]> {
    return await this.program.register(this.#connection, tools);
  }

  async refreshList(): Promise<ToolInfo[]> {
    const { tools, problems } = await this.request("tools/list");
    this.#tools = tools;
    this.#problems = problems;
    return this.#tools;
  }

  async call<Name extends string>(
    name: Name,
    args: ToolInput<Name> | undefined,
    options: CallOptions = {},
  ): Promise<ToolResult<ToolOutput<Name>>> {
    return await this.#run("tools/call", { name, arguments: args ?? {} }, options);
  }

  /** Runs a script that calls tools. */
  async runCode(code: string, options: RunOptions = {}): Promise<ToolResult<RunDetails>> {
    const { args, ownTimeMs, maxOutputTokens, ...rest } = options;
    return await this.#run("code/run", { code, args, ownTimeMs, maxOutputTokens }, rest);
  }

  /** Makes a request that is a call, and follows it to its end. */
  async #run(method: string, rest: object, options: CallOptions): Promise<any> {
    const { signal, timeoutMs } = options;
    signal?.throwIfAborted();
    const callId = `c${++this.#lastCall}`;
    return await new Promise((resolve, reject) => {
      const cancel = () => this.#connection.notify("tools/cancel", { callId });
      const finish = () => {
        this.#running.delete(callId);
        stopListening?.();
      };
      const fail = (error: unknown) => {
        if (!this.#running.has(callId)) return;
        finish();
        cancel();
        reject(error);
      };
      const stopListening = signal && onAbort(signal, () => fail(signal.reason));
      this.#running.set(callId, { options, fail });
      const ui = (options.onAsk ?? this.#options.onAsk) !== undefined;
      const params = { ...rest, callId, timeoutMs, ui };
      this.#connection.request(method, params).then(
        (result) => {
          finish();
          resolve({ ...result, text: textIn(result.content) });
        },
        (error) => {
          finish();
          reject(error);
        },
      );
    });
  }

  /** Ends haft: running calls are cancelled, and its process is gone when the promise resolves. */
  close(): Promise<void> {
    this.#closing ??= this.#process.end();
    return this.#closing;
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  #notification(method: string, params: any): void {
    switch (method) {
      case "tools/update":
        return this.#update(params.callId, params.partialResult);
      case "tools/changed":
        void this.#changed(params);
        return;
      case "program/cancel":
        return this.program.cancel(params.callId, params.reason);
      case "approval/withdrawn":
      case "ui/withdrawn":
        this.#questions.get(params.id)?.abort(new Error("the question was withdrawn"));
        return;
      case "ui/notify":
        return this.events.emit({ type: "notify", ...params });
      case "ui/setStatus":
        return this.events.emit({ type: "status", ...params });
      case "ui/setEditorText":
        return this.events.emit({ type: "editorText", ...params });
    }
  }

  #update(callId: string, update: ToolUpdate): void {
    const running = this.#running.get(callId);
    if (running?.options.onUpdate === undefined) return;
    try {
      running.options.onUpdate(update);
    } catch (error) {
      running.fail(error);
    }
  }

  async #changed(params: any): Promise<void> {
    const { added = [], removed = [], changed = [], reloaded = [] } = params;
    const { problems = [], solved = [] } = params;
    try {
      if (params.generation !== undefined) await this.refreshList();
    } catch (error) {
      // The end of haft is an event of its own.
      if (!(error instanceof HaftError)) throw error;
      return;
    }
    if ([added, removed, changed, reloaded].some((names) => names.length > 0)) {
      this.events.emit({ type: "changed", added, removed, changed, reloaded, tools: this.#tools });
    }
    if (problems.length > 0 || solved.length > 0) {
      this.events.emit({ type: "problems", problems, solved });
    }
  }

  #request(method: string, params: any, id: string): unknown {
    switch (method) {
      case "program/call":
        return this.program.call(this.#connection, params);
      case "approval/ask":
        return this.#approve(params, id);
      case "ui/select":
      case "ui/confirm":
      case "ui/input":
      case "ui/editor":
        return this.#ask({ ...params, method: method.slice("ui/".length) }, id);
    }
    throw new HaftError("protocol", `this program does not know the method \`${method}\``);
  }

  async #approve(params: Omit<ApprovalRequest, "signal">, id: string): Promise<unknown> {
    const handler =
      this.#running.get(params.callId)?.options.onApproval ?? this.#options.onApproval;
    if (handler === undefined) throw new Error("the program has no handler for approvals");
    const decide = async (signal: AbortSignal) =>
      (await handler({ ...params, signal })) === true ? "approve" : "deny";
    return { decision: await this.#asked(params.callId, id, decide) };
  }

  async #ask(params: Omit<Question, "signal">, id: string): Promise<unknown> {
    const handler = this.#running.get(params.callId ?? "")?.options.onAsk ?? this.#options.onAsk;
    if (handler === undefined) return {};
    const answer = async (signal: AbortSignal) => await handler({ ...params, signal });
    return { value: await this.#asked(params.callId, id, answer) };
  }

  /** Runs a handler of the program. An exception ends the call that it belongs to. */
  async #asked<T>(
    callId: string | undefined,
    id: string,
    handler: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController();
    this.#questions.set(id, controller);
    try {
      return await handler(controller.signal);
    } catch (thrown) {
      const running = this.#running.get(callId ?? "");
      // A handler that ends because the question was withdrawn did as it was asked.
      if (!controller.signal.aborted) {
        if (running !== undefined) running.fail(thrown);
        else this.events.emit({ type: "error", error: errorOf(thrown) });
      }
      throw thrown;
    } finally {
      this.#questions.delete(id);
    }
  }

  #ended(error: HaftError): void {
    this.program.cancelAll(error);
    for (const controller of this.#questions.values()) controller.abort(error);
    this.events.emit({ type: "ended", error });
  }
}

function errorOf(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(textOf(thrown));
}

/** Joins the text blocks of a result. */
export function textIn(content: readonly { type: string; text?: string }[]): string {
  return content
    .filter((block) => block.type === "text")
    .map((block) => block.text)
    .join("\n");
}

/** Options of the call of a tool by a model, as adapters take them. */
export interface AdapterOptions extends Selected {
  onUpdate?: (update: ToolUpdate, call: { tool: string; callId: string | undefined }) => void;
  onAsk?: AskHandler;
  onApproval?: ApprovalHandler;
  timeoutMs?: number;
}
