// What authors of tools import types from: the API that a module's factory gets, and what it returns.
//
// A tool imports these from `@oh-my-pi/pi-coding-agent` (or the older scopes), as it does for
// oh-my-pi; the imports are gone when it runs. Only types live here. Where the two programs differ,
// the comments say what haft does.

import type { TSchema } from "@sinclair/typebox";
import type { z } from "zod";

// ---- Parameters ---------------------------------------------------------------------------------

/** A schema: of zod, TypeBox or arktype, or plain JSON Schema. */
export type ToolSchema = z.ZodType | TSchema | { readonly infer: unknown } | JsonSchema;

/** JSON Schema as an object. */
export type JsonSchema = { readonly [key: string]: unknown };

/**
 * The type of the arguments that a schema lets through. Told by what schemas have, not by their
 * names: a tool's own zod or TypeBox may be another copy than ours.
 */
export type Static<T> = T extends { readonly _zod: { readonly output: infer Output } }
  ? Output
  : T extends { readonly static: infer Output; readonly params: unknown }
    ? Output
    : T extends { readonly infer: infer Output }
      ? Output
      : any;

// ---- Results ------------------------------------------------------------------------------------

/** Hints of a part of a result for clients, as MCP defines them. */
export interface Annotated {
  annotations?: {
    /** The readers that it is for. */
    audience?: ("user" | "assistant")[];
    /** Importance, from 0 to 1. */
    priority?: number;
    /** Time of the last change, as an ISO 8601 text. */
    lastModified?: string;
  };
  /** Further data for clients. */
  _meta?: Record<string, unknown>;
}

export interface TextContent extends Annotated {
  type: "text";
  text: string;
}

export interface ImageContent extends Annotated {
  type: "image";
  /** The picture in base64. */
  data: string;
  /** For example `image/png`. */
  mimeType: string;
}

export interface AudioContent extends Annotated {
  type: "audio";
  /** The sound in base64. */
  data: string;
  /** For example `audio/wav`. */
  mimeType: string;
}

/** A file or another thing, with its contents: its text, or its bytes in base64. */
export interface ResourceContent extends Annotated {
  type: "resource";
  resource: { uri: string; mimeType?: string } & ({ text: string } | { blob: string });
}

/** A file or another thing by its address alone. */
export interface ResourceLinkContent extends Annotated {
  type: "resource_link";
  uri: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
}

export type Content =
  | TextContent
  | ImageContent
  | AudioContent
  | ResourceContent
  | ResourceLinkContent;

/** Result of a call. `content` is for the model, `details` for the program and renderers. */
export interface ToolResult<TDetails = any> {
  content: Content[];
  details?: TDetails;
  /** True if the tool did not do what it was asked for. Throwing says the same. */
  isError?: boolean;
  /** True if the result has nothing in it that the model needs. */
  useless?: boolean;
}

/** Sends what there is so far. May be called any number of times while the call runs. */
export type ToolUpdate<TDetails = any> = (partial: ToolResult<TDetails>) => void;

// ---- The tool -----------------------------------------------------------------------------------

/** Amount of harm that a call can do. Tools without a statement count as `exec`. */
export type ApprovalTier = "read" | "write" | "exec";

export interface ApprovalDecision {
  tier: ApprovalTier;
  /** Shown to the user who is asked. */
  reason?: string;
  /** Asks even where the mode would allow the call. */
  override?: boolean;
  policy?: "allow" | "deny" | "prompt";
  policyKey?: string;
}

export type Approval = ApprovalTier | ApprovalDecision;

/** One tool. `this` inside of its functions is the tool. */
export interface CustomTool<TParams extends ToolSchema = any, TDetails = any> {
  /** Name for the model. The first tool of a name wins. */
  name: string;
  /** Name for people. */
  label?: string;
  /** Text for the model. A getter is read again for every listing. */
  description: string;
  parameters: TParams;

  /** Does the work. Arguments have been checked, and defaults filled in. */
  execute(
    toolCallId: string,
    params: Static<TParams>,
    onUpdate: ToolUpdate<TDetails> | undefined,
    ctx: CustomToolContext,
    signal: AbortSignal | undefined,
  ): ToolResult<TDetails> | Promise<ToolResult<TDetails>>;

  /** Told about the life of the session, `shutdown` included. Errors are logged and go no further. */
  onSession?(event: SessionEvent, ctx: CustomToolContext): void | Promise<void>;

  /**
   * Draws a call on a terminal. Tools for pi take `(args, theme)` or `(args, theme, context)`, which
   * work too: `options` is `RenderOptions & Theme`, `theme` is `Theme & RenderContext`.
   */
  renderCall?(args: Static<TParams>, options: any, theme: any): any;
  /** Draws a result on a terminal. */
  renderResult?(
    result: ToolResult<TDetails>,
    options: RenderOptions,
    theme: Theme,
    args?: Static<TParams>,
  ): Component | null | undefined | Promise<Component | null | undefined>;
  /** `"self"`: the renderers draw margins and ground, too. */
  renderShell?: "default" | "self";

  approval?: Approval | ((args: Static<TParams>) => Approval);
  /** Lines that a user who is asked for approval sees beside the name. */
  formatApprovalDetails?(args: Static<TParams>): string | string[] | undefined;

  /** `false` keeps the tool out of providers' strict modes. Says nothing about haft's own check. */
  strict?: boolean;
  /** Not listed and not callable, until something makes it so. */
  hidden?: boolean;
  /**
   * Place in the lists of surfaces. A tool is never hidden behind another tool's name. For MCP clients
   * `essential` is `mcp.alwaysLoad`.
   */
  loadMode?: "essential" | "discoverable";

  /**
   * The schema of `details`. Where there is one, MCP clients get `details` as `structuredContent`, which
   * must fit it. Many of them then show the model nothing else: leave it out unless `details` hold all
   * that the model needs.
   */
  outputSchema?: ToolSchema;
  /** Calls take long: the same as `mcp: { task: "always" }`. */
  long?: boolean;
  mcp?: McpHints;
  deferrable?: boolean;
  mcpServerName?: string;
  mcpToolName?: string;
}

/** Wishes for MCP clients. What the user configures comes before them. */
export interface McpHints {
  /**
   * When a call goes on as a background task, where the client knows tasks: at once, never, or when a
   * request has waited so many seconds for the result (or a duration like `"90s"`). 60 by default.
   */
  task?: "always" | "never" | number | (string & {});
  /** The definition is in the model's context from the start, and not behind a tool search. */
  alwaysLoad?: boolean;
  /** A phrase by which a tool search should find the tool. */
  searchHint?: string;
}

type OneOrMany = CustomTool | CustomTool[] | null | undefined;

/** The default export of a module. Returning nothing says that there is nothing to offer. */
export type CustomToolFactory = (pi: CustomToolAPI) => OneOrMany | Promise<OneOrMany>;

// ---- What the factory gets ----------------------------------------------------------------------

export interface ExecOptions {
  /** Default: `pi.cwd`. */
  cwd?: string;
  signal?: AbortSignal;
  /** In milliseconds. 0 is none. */
  timeout?: number;
  env?: Record<string, string | undefined>;
  /** Written to the program's stdin, which is empty otherwise. */
  input?: string | Uint8Array;
}

export interface ExecResult {
  stdout: string;
  stderr: string;
  /** 124 after a timeout, 130 after an abort, 128 and the signal's number after another signal. */
  code: number;
  /** The timeout or the abort signal ended it. */
  killed: boolean;
}

export interface Logger {
  debug(message: string, context?: Record<string, unknown>): void;
  info(message: string, context?: Record<string, unknown>): void;
  warn(message: string, context?: Record<string, unknown>): void;
  error(message: string, context?: Record<string, unknown>): void;
  /** Does the work; how long it took is not kept. */
  time<T, TArgs extends unknown[]>(name: string, work: (...args: TArgs) => T, ...args: TArgs): T;
  time(name: string): void;
}

/** Ends of a question besides an answer. */
export interface DialogOptions {
  signal?: AbortSignal;
  /** In milliseconds. 0 is none. */
  timeout?: number;
}

/** Questions to the user of the call in which it is used. Without a user who can be asked they are answered with `undefined` or `false`. */
export interface UIContext {
  select(
    title: string,
    options: readonly string[],
    dialog?: DialogOptions,
  ): Promise<string | undefined>;
  confirm(title: string, message: string, dialog?: DialogOptions): Promise<boolean>;
  input(title: string, placeholder?: string, dialog?: DialogOptions): Promise<string | undefined>;
  editor(title: string, prefill?: string, dialog?: DialogOptions): Promise<string | undefined>;
  /**
   * Shows a component with the keyboard until it calls `done`. Where there is no screen the factory is
   * not called, and the answer is `undefined`.
   */
  custom<T>(
    factory: (
      tui: ComponentTUI,
      theme: Theme,
      keybindings: any,
      done: (value?: T) => void,
    ) => Component | Promise<Component>,
    options?: {
      /** Placed by `overlayOptions`, over nothing. */
      overlay?: boolean;
      overlayOptions?: OverlayOptions | (() => OverlayOptions);
      onHandle?: (handle: OverlayHandle) => void;
    },
  ): Promise<T | undefined>;
  notify(message: string, kind?: "info" | "warning" | "error"): void;
  setStatus(key: string, text: string | undefined): void;
  setEditorText(text: string): void;
  getEditorText(): string;
  readonly theme: Theme | undefined;
}

/** The terminal of a component that `ui.custom` shows. */
export interface ComponentTUI {
  /** Largest size of the component. */
  readonly terminal: {
    readonly columns: number;
    readonly rows: number;
    readonly kittyProtocolActive: boolean;
  };
  /** Draws again, once for everything that changes in one turn. */
  requestRender(): void;
  /** Gives the keys to a part of the component, or of the overlay whose turn it is. */
  setFocus(component: Component | null): void;
  /** Puts a component on top, with the keyboard. */
  showOverlay(
    component: Component,
    options?: OverlayOptions | (() => OverlayOptions),
  ): OverlayHandle;
  /** Takes the topmost overlay away. */
  hideOverlay(): void;
  /** True if one is visible. */
  hasOverlay(): boolean;
}

/** Columns or rows, or a share of those that the terminal has. */
export type SizeValue = number | `${number}%`;

export interface OverlayOptions {
  /** 80 columns without it, or all that there are. */
  width?: SizeValue;
  minWidth?: number;
  /** Largest height; the rest is cut at the end. */
  maxHeight?: SizeValue;
  /** Place without `row` and `col`; by default `center`. */
  anchor?:
    | "center"
    | "top-left"
    | "top-center"
    | "top-right"
    | "left-center"
    | "right-center"
    | "bottom-left"
    | "bottom-center"
    | "bottom-right";
  /** Moves it to the right. */
  offsetX?: number;
  /** Moves it down. */
  offsetY?: number;
  /** Its first row; as a share, 0% is at the top and 100% at the bottom. */
  row?: SizeValue;
  /** Its first column, likewise. */
  col?: SizeValue;
  /** Room that stays free at the edges. */
  margin?: number | { top?: number; right?: number; bottom?: number; left?: number };
  /** Returns true if it is visible in a terminal of that size. */
  visible?: (columns: number, rows: number) => boolean;
  /** It does not get the keyboard by being shown. */
  nonCapturing?: boolean;
}

/** Handle that `showOverlay` returns. */
export interface OverlayHandle {
  /** Takes it away for good; the keyboard goes back. */
  hide(): void;
  /** Takes it away for a time, or brings it back. */
  setHidden(hidden: boolean): void;
  isHidden(): boolean;
  /** Gives it the keyboard, on top of the others. */
  focus(): void;
  /** Gives the keyboard to what is beneath it. */
  unfocus(): void;
  isFocused(): boolean;
  /** Returns its place in the last drawing, while it is visible. */
  getBounds(): { row: number; col: number; width: number; height: number } | undefined;
}

export interface PendingAction {
  label: string;
  apply(reason: string): ToolResult | Promise<ToolResult>;
  reject?(reason: string): ToolResult | undefined | Promise<ToolResult | undefined>;
  details?: unknown;
  sourceToolName?: string;
}

/** `pi`, the argument of a factory. One object serves all modules of an isolate. */
export interface CustomToolAPI {
  /** The working directory of the host. */
  readonly cwd: string;
  /** Runs a program, without a shell. A program that is not there throws with the code `ENOENT`. */
  exec(command: string, args: string[], options?: ExecOptions): Promise<ExecResult>;
  readonly ui: UIContext;
  /** True if a user can be asked. */
  readonly hasUI: boolean;
  readonly logger: Logger;
  /** zod 4, the same as `import "zod"`. */
  readonly zod: typeof import("zod");
  /** TypeBox 0.34, the same as `import "@sinclair/typebox"`. */
  readonly typebox: typeof import("@sinclair/typebox");
  /** arktype's `type`. */
  readonly arktype: typeof import("arktype").type & typeof import("arktype");
  /** The values that `@oh-my-pi/pi-coding-agent` exports. */
  readonly pi: any;
  /** Registers a preview that the model applies or discards with the tool `resolve`. */
  pushPendingAction(action: PendingAction): void;
  readonly events: {
    on(name: string, listener: (...args: any[]) => unknown): () => void;
    off(name: string, listener: (...args: any[]) => unknown): void;
    emit(name: string, ...args: any[]): boolean;
  };
}

/** The factory's argument under its name in pi. */
export type ToolAPI = CustomToolAPI;
/** A tool under its name in pi. */
export type CustomAgentTool<TParams extends ToolSchema = any, TDetails = any> = CustomTool<
  TParams,
  TDetails
>;
export type AgentToolResult<TDetails = any> = ToolResult<TDetails>;
export type AgentToolUpdateCallback<TDetails = any> = ToolUpdate<TDetails>;

// ---- What a call gets ---------------------------------------------------------------------------

export interface SessionEntry {
  type: string;
  id?: string;
  parentId?: string | null;
  message?: any;
  [key: string]: unknown;
}

export interface SessionTreeNode {
  entry: SessionEntry;
  children: SessionTreeNode[];
  label?: string;
}

/** The session as it is at the moment of asking. It can only be read; lists are copies. */
export interface ReadonlySessionManager {
  /** From the first entry to where the session stands, or to the entry `from`. */
  getBranch(from?: string): SessionEntry[];
  getEntries(): SessionEntry[];
  getLeafId(): string | null;
  getLeafEntry(): SessionEntry | undefined;
  getEntry(id: string): SessionEntry | undefined;
  getLabel(id: string): string | undefined;
  getTree(): SessionTreeNode[];
  getHeader(): { type: "session"; id: string; cwd: string } | null;
  getSessionId(): string;
  getSessionFile(): string | undefined;
  getSessionDir(): string | undefined;
  getSessionName(): string | undefined;
  getCwd(): string;
  /** The session's file without its ending; null where there is no file. */
  getArtifactsDir(): string | null;
}

/** Resolver of `local://`. */
export interface LocalProtocolOptions {
  getArtifactsDir(): string | null;
  getSessionId(): string | null;
}

/**
 * Context of a call. A copy (`{ ...ctx }`) has `sessionManager`, `modelRegistry`, `model`, `isIdle`,
 * `hasQueuedMessages`, `abort` and `localProtocolOptions`; the others are inherited.
 */
export interface CustomToolContext {
  readonly sessionManager: ReadonlySessionManager;
  readonly modelRegistry: any;
  readonly model: any;
  readonly cwd: string;
  readonly sessionId: string;
  /** `pi.ui`, of this call wherever it is used. */
  readonly ui: UIContext;
  readonly hasUI: boolean;
  /** `get("a.b")`. */
  readonly settings?: any;
  /** True if the caller has the mode `yolo`: calls are approved without a question. */
  readonly autoApprove?: boolean;
  readonly fetch?: typeof fetch;
  readonly localProtocolOptions?: LocalProtocolOptions;
  isIdle(): boolean;
  hasQueuedMessages(): boolean;
  /** Asks the agent to stop what it is doing. */
  abort(): void;
}

export type SessionEvent =
  | { reason: "start" | "tree" | "shutdown"; previousSessionFile: undefined }
  | { reason: "switch" | "branch"; previousSessionFile: string | undefined }
  | { reason: "auto_compaction_start"; trigger: string; action: string }
  | {
      reason: "auto_compaction_end";
      action: string;
      result: unknown;
      aborted: boolean;
      willRetry: boolean;
      errorMessage?: string;
    }
  | {
      reason: "auto_retry_start";
      attempt: number;
      maxAttempts: number;
      delayMs: number;
      errorMessage: string;
      errorId?: string;
    }
  | {
      reason: "auto_retry_end";
      success: boolean;
      attempt: number;
      finalError?: string;
      retryErrors?: unknown[];
    }
  | { reason: "ttsr_triggered"; rules: unknown[] }
  | { reason: "todo_reminder"; todos: unknown[]; attempt: number; maxAttempts: number };

// ---- Rendering ----------------------------------------------------------------------------------

/** A piece of the screen. `@oh-my-pi/pi-tui` has some that are ready. */
export interface Component {
  /** The lines at `width` columns. None may be wider. */
  render(width: number): readonly string[];
  handleInput?(data: string): void;
  invalidate?(): void;
  dispose?(): void;
}

export interface RenderOptions {
  expanded: boolean;
  /** The call still runs; this is an update. */
  isPartial: boolean;
  spinnerFrame?: number;
}

/** Facts about the call for renderers. In `renderResult` it is behind the arguments, where pi has it. */
export interface RenderContext<TArgs = any> {
  readonly args: TArgs;
  readonly toolCallId: string;
  readonly cwd: string;
  /** One object for all drawings of a call. */
  readonly state: Record<string, any>;
  /** Component that the renderer returned before. */
  readonly lastComponent: Component | undefined;
  readonly expanded: boolean;
  readonly isPartial: boolean;
  readonly isError: boolean;
  readonly showImages: boolean;
  readonly argsComplete: boolean;
  readonly executionStarted: boolean;
  invalidate(): void;
}

/** Styles for text. An unknown colour throws. */
export interface Theme {
  fg(color: string, text: string): string;
  bg(color: string, text: string): string;
  bold(text: string): string;
  italic(text: string): string;
  underline(text: string): string;
  inverse(text: string): string;
  strikethrough(text: string): string;
  symbol(key: string): string;
  styledSymbol(key: string, color: string): string;
  readonly spinnerFrames: readonly string[];
  getFgAnsi(color: string): string;
  getBgAnsi(color: string): string;
  getColorMode(): "truecolor" | "256color";
  readonly isLight: boolean;
  /** Symbols by their short names: `theme.status.success`. */
  readonly status: Record<string, string>;
  readonly nav: Record<string, string>;
  readonly tree: Record<string, string>;
  readonly progress: Record<string, string>;
  readonly boxRound: BoxSymbols;
  readonly boxSharp: BoxSymbols;
  readonly sep: Record<string, string>;
  readonly icon: Record<string, string>;
  readonly checkbox: Record<string, string>;
  readonly radio: Record<string, string>;
  readonly format: Record<string, string>;
  readonly md: Record<string, string>;
}

/** The characters of an outline, for `Box` among others. */
export interface BoxSymbols {
  topLeft: string;
  topRight: string;
  bottomLeft: string;
  bottomRight: string;
  horizontal: string;
  vertical: string;
  [more: string]: string;
}

// ---- Extensions of pi ----------------------------------------------------------------------------

/** A tool as pi's extensions register it: its arguments come in pi's order. */
export interface ToolDefinition<TParams extends ToolSchema = any, TDetails = any> {
  name: string;
  label?: string;
  description: string;
  promptSnippet?: string;
  promptGuidelines?: string[];
  parameters: TParams;
  /** Changes the arguments before they are checked. */
  prepareArguments?(args: any): any;
  outputSchema?: unknown;
  exposure?: "direct" | "model-only" | "codemode" | "deferred" | "hidden";
  namespace?: { name: string; aliases?: string[]; description?: string; instructions?: string };
  annotations?: {
    title?: string;
    readOnlyHint?: boolean;
    destructiveHint?: boolean;
    idempotentHint?: boolean;
    openWorldHint?: boolean;
  };
  executionMode?: "sequential" | "parallel";
  execute(
    toolCallId: string,
    params: Static<TParams>,
    signal: AbortSignal | undefined,
    onUpdate: ToolUpdate<TDetails> | undefined,
    ctx: ExtensionContext,
  ): Promise<ExtensionToolResult<TDetails>>;
  renderCall?(args: Static<TParams>, theme: Theme, context: RenderContext): Component;
  renderResult?(
    result: ToolResult<TDetails>,
    options: RenderOptions,
    theme: Theme,
    context: RenderContext,
  ): Component;
}

export interface ExtensionToolResult<TDetails = any> extends ToolResult<TDetails> {
  structuredContent?: unknown;
  terminate?: boolean;
}

/** The context of a call, with what pi has besides. */
export interface ExtensionContext extends CustomToolContext {
  readonly signal?: AbortSignal;
  /** Calls another tool of the catalog as a call that is approved and logged; one of the same module is approved already. */
  executeTool(
    name: string,
    args: unknown,
    options?: { signal?: AbortSignal; onUpdate?: ToolUpdate },
  ): Promise<ToolResult>;
}

/** `pi`, the argument of an extension. Of what it registers, haft serves the tools. */
export interface ExtensionAPI extends CustomToolAPI {
  registerTool<const TParams extends ToolSchema, TDetails = any>(
    tool: ToolDefinition<TParams, TDetails>,
  ): void;
  registerFlag(name: string, options?: { default?: unknown; [key: string]: unknown }): void;
  getFlag(name: string): any;
  on(event: string, handler: (event: any, ctx: ExtensionContext) => unknown): void;
  registerCommand(name: string, options: object): void;
  registerShortcut(key: any, options: object): void;
  registerProvider(name: string, options: object): void;
  registerMessageRenderer(type: string, renderer: (...args: any[]) => any): void;
  sendUserMessage(...args: any[]): void;
  appendEntry(type: string, data?: unknown): void;
  getActiveTools(): string[];
  setActiveTools(names: string[]): void;
}

export type ExtensionFactory = (pi: ExtensionAPI) => void | Promise<void>;
