// `ctx`, the fourth argument of `execute` and the second of `onSession` (spec omp 8).
//
// The embedding program provides the session, or a peer sends it. Every access returns its current
// state; without a session it is empty, and the functions return empty values instead of throwing.

import {
  op_haft_session,
  op_haft_session_abort,
  op_haft_session_auto_approve,
  op_haft_session_idle,
  op_haft_session_queued,
} from "ext:core/ops";
import { captured, currentCall, type RunningCall, settings } from "ext:haft/00_state.ts";
import { shareWithScripts } from "ext:haft/05_packages.ts";
import { hasUser, ui, uiOf } from "ext:haft/12_ui.ts";
import { logger } from "ext:haft/13_logger.ts";

type Entry = Record<string, any>;

/** Twin of `SessionView` in `crates/tool/src/session.rs`. */
interface View {
  id: string;
  name?: string;
  file?: string;
  cwd?: string;
  entries: Entry[];
  branch: Entry[];
  model?: unknown;
  models?: unknown[];
  settings?: Record<string, unknown>;
}

let read: View = { id: "", entries: [], branch: [] };

/** The session as it is now. Read again only when it has changed. */
function session(): View {
  const text = op_haft_session();
  if (text !== "") read = captured.jsonParse(text) as View;
  return read;
}

interface TreeNode {
  entry: Entry;
  children: TreeNode[];
  label?: string;
}

function entryById(id: unknown): Entry | undefined {
  return session().entries.find((entry) => entry?.["id"] === id);
}

function branchTo(id: unknown): Entry[] {
  const branch: Entry[] = [];
  let entry = entryById(id);
  while (entry !== undefined && !branch.includes(entry)) {
    branch.unshift(entry);
    entry = entry["parentId"] == null ? undefined : entryById(entry["parentId"]);
  }
  return branch;
}

// The newest label of an entry counts; an empty one takes it away.
function labelOf(id: unknown): string | undefined {
  const { entries } = session();
  for (let at = entries.length - 1; at >= 0; at--) {
    const entry = entries[at];
    if (entry?.["type"] === "label" && entry["targetId"] === id) return entry["label"] || undefined;
  }
  return undefined;
}

function tree(): TreeNode[] {
  const roots: TreeNode[] = [];
  const nodes = new Map<unknown, TreeNode>();
  for (const entry of session().entries) {
    const node: TreeNode = { entry, children: [] };
    const label = labelOf(entry?.["id"]);
    if (label !== undefined) node.label = label;
    nodes.set(entry?.["id"], node);
    (nodes.get(entry?.["parentId"])?.children ?? roots).push(node);
  }
  return roots;
}

const sessionId = (): string => session().id || settings.sessionId;
const workingDirectory = (): string => session().cwd ?? settings.cwd;
/** Directory in which oh-my-pi keeps the data of a session: beside its file. */
const artifactsDir = (): string | null => session().file?.replace(/\.jsonl$/, "") ?? null;

const sessionManager = {
  getBranch: (from?: unknown): Entry[] => (from == null ? [...session().branch] : branchTo(from)),
  getEntries: (): Entry[] => [...session().entries],
  getLeafId: (): unknown => session().branch.at(-1)?.["id"] ?? null,
  getLeafEntry: (): Entry | undefined => session().branch.at(-1),
  getEntry: entryById,
  getLabel: labelOf,
  getTree: tree,
  getHeader: (): Entry => ({ type: "session", id: sessionId(), cwd: workingDirectory() }),
  getSessionId: sessionId,
  getSessionFile: (): string | undefined => session().file,
  getSessionDir: (): string | undefined => session().file?.replace(/\/[^/]*$/, ""),
  getSessionName: (): string | undefined => session().name,
  getCwd: workingDirectory,
  getArtifactsDir: artifactsDir,
};

/** Options with which oh-my-pi resolves `local://`. */
const localProtocolOptions = {
  getArtifactsDir: artifactsDir,
  getSessionId: sessionId,
};

/** The variables in which providers' keys are commonly kept, besides `<PROVIDER>_API_KEY`. */
const KEY_VARIABLES: Record<string, string[]> = {
  google: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
  "github-copilot": ["GITHUB_COPILOT_TOKEN", "GITHUB_TOKEN"],
  huggingface: ["HF_TOKEN", "HUGGINGFACE_API_KEY"],
};

function keyFromEnvironment(provider: string): string | undefined {
  const env = (globalThis as any).process.env;
  const usual = `${provider.toUpperCase().replace(/[^A-Z0-9]+/g, "_")}_API_KEY`;
  for (const name of [usual, ...(KEY_VARIABLES[provider] ?? [])]) {
    if (env[name]) return env[name];
  }
  return undefined;
}

const authStorage = {
  getApiKey: async (provider: string): Promise<string | undefined> => keyFromEnvironment(provider),
  hasAuth: (provider: string): boolean => keyFromEnvironment(provider) !== undefined,
  has: (provider: string): boolean => keyFromEnvironment(provider) !== undefined,
  get: (provider: string): { type: "api_key"; key: string } | undefined => {
    const key = keyFromEnvironment(provider);
    return key === undefined ? undefined : { type: "api_key", key };
  },
  list: (): string[] => [],
};

const modelRegistry = {
  authStorage,
  getAll: (): unknown[] => [...(session().models ?? [])],
  getAvailable: (): unknown[] => [...(session().models ?? [])],
  find: (provider: string, id: string): unknown =>
    session().models?.find((model: any) => model?.provider === provider && model?.id === id),
  getApiKey: async (model: { provider?: string } | undefined): Promise<string | undefined> =>
    model?.provider ? keyFromEnvironment(model.provider) : undefined,
  getApiKeyForProvider: async (provider: string): Promise<string | undefined> =>
    keyFromEnvironment(provider),
};

/** `a.b` is a key of its own, or `b` in `a`. */
function setting(path: string): unknown {
  let found: any = session().settings;
  if (found !== undefined && path in found) return found[path];
  for (const key of `${path}`.split(".")) found = found?.[key];
  return found;
}

/** The settings of the host; they are read here and changed there. */
const settingsView = {
  get: setting,
  getGroup: (name: string): Record<string, unknown> => ({ ...(setting(name) as object) }),
  getCwd: workingDirectory,
  has: (path: string): boolean => setting(path) !== undefined,
  set: (path: string): never => {
    throw new Error(`\`${path}\` cannot be set: the settings belong to the host of the tools`);
  },
};

// It is `pi.pi.settings`.
shareWithScripts("settings", settingsView);

const CALL = Symbol("call");
const UI = Symbol("ui");

/** Data of a context about its call; empty in the context of `onSession`. */
interface OfCall {
  [CALL]?: RunningCall | undefined;
  [UI]?: typeof ui;
}

// Its own call even where the async context is lost; that of the context for `const { abort } = ctx`.
const callOf = (context: OfCall | undefined) => context?.[CALL] ?? currentCall.get();

const isIdle = (): boolean => op_haft_session_idle();
const hasQueuedMessages = (): boolean => op_haft_session_queued();

function abort(this: OfCall | undefined): void {
  const call = callOf(this);
  if (call?.abort) call.abort.abort("Interrupted by user");
  else logger.debug("ctx.abort() outside a call cancels no call");
  op_haft_session_abort();
}

const { defineProperty } = Object;

/** One function for all contexts: V8 keeps them in one form then, and makes one in a fraction of the time. */
const MODEL: PropertyDescriptor = {
  get: () => session().model,
  enumerable: true,
  configurable: true,
};

/**
 * The context of a call, or of `onSession`. Its own members are those of the original, so that
 * `{ ...ctx }` has them; the call goes along under a symbol. What the documents name besides is inherited.
 */
class Context implements OfCall {
  declare readonly model: unknown;
  declare [UI]?: typeof ui;
  declare [CALL]: RunningCall | undefined;
  readonly sessionManager = sessionManager;
  readonly modelRegistry = modelRegistry;
  declare readonly isIdle: () => boolean;
  declare readonly hasQueuedMessages: () => boolean;
  declare readonly abort: (this: OfCall | undefined) => void;
  declare readonly localProtocolOptions: typeof localProtocolOptions;

  constructor(call: RunningCall | undefined) {
    this[CALL] = call;
    // The order is the original's.
    defineProperty(this, "model", MODEL);
    this.isIdle = isIdle;
    this.hasQueuedMessages = hasQueuedMessages;
    this.abort = abort;
    this.localProtocolOptions = localProtocolOptions;
  }

  get autoApprove(): boolean {
    return op_haft_session_auto_approve(callOf(this)?.id ?? 0, settings.autoApprove);
  }

  get ui(): typeof ui {
    const call = this[CALL];
    if (call === undefined) return ui;
    this[UI] ??= uiOf(() => call);
    return this[UI];
  }

  get hasUI(): boolean {
    return hasUser(callOf(this));
  }

  get cwd(): string {
    return workingDirectory();
  }

  get sessionId(): string {
    return sessionId();
  }
}

// Plain members: authors put their own in these places.
Object.assign(Context.prototype, {
  settings: settingsView,
  fetch: (...args: Parameters<typeof fetch>): Promise<Response> => globalThis.fetch(...args),
});

// What the context of pi's extensions has besides. There is no agent that could be told anything.
const OF_EXTENSIONS: Record<string, unknown> = {
  mode: "print",
  thinkingLevel: "off",
  isProjectTrusted: (): boolean => true,
  hasPendingMessages: (): boolean => false,
  getContextUsage: (): undefined => undefined,
  getSystemPrompt: (): string => "",
  shutdown: (): void => {},
  compact: (): void => {},
  waitForIdle: async (): Promise<void> => {},
};
for (const [name, value] of Object.entries(OF_EXTENSIONS)) {
  defineProperty(Context.prototype, name, { value, configurable: true, writable: true });
}

/** The context of a call; without one, that of `onSession`. */
export function contextOf(call?: RunningCall): object {
  return new Context(call);
}

/**
 * Further members of early pi's events: the session's entries and its file. They are inherited, so that
 * the event has the keys of the original.
 */
export const earlyEvent = {
  get entries(): Entry[] {
    return [...session().branch];
  },
  get sessionFile(): string | null {
    return session().file ?? null;
  },
};
