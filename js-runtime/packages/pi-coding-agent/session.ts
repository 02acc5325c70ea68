// Settings and a session in memory, for tools that make their own.
//
// The settings and the session of the program around the tool come with the call's context. What
// is read from or written to the original's files is refused.

import { unavailable } from "../unavailable.ts";

type Entry = Record<string, unknown>;

const noFiles = (name: string) =>
  unavailable("pi-coding-agent", name, "haft keeps no sessions; use the context of the call");

/** Settings that exist as long as the object. */
export class Settings {
  readonly #values: Map<string, unknown>;

  private constructor(values: Record<string, unknown>) {
    this.#values = new Map(Object.entries(values));
  }

  static isolated(values: Record<string, unknown> = {}): Settings {
    return new Settings(values);
  }

  static readonly init = noFiles("Settings.init");

  get(name: string): unknown {
    return this.#values.get(name);
  }

  set(name: string, value: unknown): void {
    this.#values.set(name, value);
  }
}

/** A session that exists as long as the object: a list of entries, each after the one before. */
export class SessionManager {
  readonly #cwd: string;
  readonly #id = crypto.randomUUID();
  readonly #entries: Entry[] = [];

  private constructor(cwd: string) {
    this.#cwd = cwd;
  }

  static inMemory(cwd = "."): SessionManager {
    return new SessionManager(cwd);
  }

  static readonly create = noFiles("SessionManager.create");
  static readonly open = noFiles("SessionManager.open");
  static readonly continueRecent = noFiles("SessionManager.continueRecent");
  static readonly list = noFiles("SessionManager.list");

  appendMessage(message: Entry): string {
    return this.#append({ type: "message", message });
  }

  appendCustomEntry(customType: string, data?: unknown): string {
    return this.#append({ type: "custom", customType, data });
  }

  getBranch(): Entry[] {
    return [...this.#entries];
  }

  getEntries(): Entry[] {
    return [...this.#entries];
  }

  getLeafId(): string | null {
    return (this.#entries.at(-1)?.["id"] as string | undefined) ?? null;
  }

  getSessionId(): string {
    return this.#id;
  }

  getSessionFile(): undefined {
    return undefined;
  }

  getCwd(): string {
    return this.#cwd;
  }

  #append(entry: Entry): string {
    const id = crypto.randomUUID();
    this.#entries.push({
      ...entry,
      id,
      parentId: this.getLeafId(),
      timestamp: new Date().toISOString(),
    });
    return id;
  }
}
