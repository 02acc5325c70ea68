// `ctx`, the fourth argument of `execute` and the second of `onSession` (spec omp 8).
//
// What the caller's session is comes with `session/event` over rpc or from the SDK; until then the
// session is empty, and the functions answer so instead of throwing.

import { currentCall, type RunningCall, settings } from "ext:haft/00_state.ts";
import { hasUser, ui, uiOf } from "ext:haft/12_ui.ts";
import { logger } from "ext:haft/13_logger.ts";

type Entry = Record<string, unknown>;

const { create } = Object;

/** The session as the host last described it. */
export const session: {
  id: string;
  file: string | undefined;
  branch: Entry[];
  entries: Entry[];
} = { id: "", file: undefined, branch: [], entries: [] };

/** Gives the session its name; called once when the isolate starts. */
export function startSession(id: string): void {
  session.id = id;
}

/** Takes over what a `session/event` says about branch and entries. */
export function updateSession(description: { branch?: Entry[]; entries?: Entry[] }): void {
  if (Array.isArray(description.branch)) session.branch = description.branch;
  if (Array.isArray(description.entries)) session.entries = description.entries;
}

const sessionManager = {
  getBranch: (): Entry[] => session.branch,
  getEntries: (): Entry[] => session.entries,
  getLeafId: (): unknown => session.branch.at(-1)?.id ?? null,
  getLeafEntry: (): Entry | undefined => session.branch.at(-1),
  getEntry: (id: unknown): Entry | undefined => session.entries.find((entry) => entry.id === id),
  getSessionId: (): string => session.id,
  getSessionFile: (): string | undefined => session.file,
  getSessionName: (): string | undefined => undefined,
  getCwd: (): string => settings.cwd,
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
  getAll: (): unknown[] => [],
  getAvailable: (): unknown[] => [],
  find: (): undefined => undefined,
  getApiKey: async (model: { provider?: string } | undefined): Promise<string | undefined> =>
    model?.provider ? keyFromEnvironment(model.provider) : undefined,
  getApiKeyForProvider: async (provider: string): Promise<string | undefined> =>
    keyFromEnvironment(provider),
};

const settingsView = {
  get: (_path: string): undefined => undefined,
};

const CALL = Symbol("call");
const UI = Symbol("ui");

/** What a context knows of its call; nothing in that of `onSession`. */
interface OfCall {
  [CALL]?: RunningCall;
  [UI]?: typeof ui;
}

// Its own call even where the async context is lost; that of the context for `const { abort } = ctx`.
const callOf = (context: OfCall | undefined) => context?.[CALL] ?? currentCall.get();

/** The context of `onSession`, and what those of calls are made of. */
export const toolContext = {
  sessionManager,
  modelRegistry,
  model: undefined,
  settings: settingsView,
  autoApprove: false,
  get ui(): typeof ui {
    const context = this as OfCall;
    const call = context?.[CALL];
    if (call === undefined) return ui;
    context[UI] ??= uiOf(() => call);
    return context[UI];
  },
  get hasUI(): boolean {
    return hasUser(callOf(this as OfCall));
  },
  get cwd(): string {
    return settings.cwd;
  },
  get sessionId(): string {
    return session.id;
  },
  isIdle: (): boolean => false,
  hasQueuedMessages: (): boolean => false,
  abort(): void {
    const call = callOf(this as OfCall | undefined);
    if (call?.abort) call.abort.abort("Interrupted by user");
    else logger.debug("ctx.abort() outside a call does nothing");
  },
  fetch: (...args: Parameters<typeof fetch>): Promise<Response> => globalThis.fetch(...args),
};

/** The context of a call. */
export function contextOf(call: RunningCall): typeof toolContext {
  const context = create(toolContext);
  context[CALL] = call;
  return context;
}
