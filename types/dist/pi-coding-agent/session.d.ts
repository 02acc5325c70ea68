type Entry = Record<string, unknown>;
/** Settings that live as long as the object. */
export declare class Settings {
    #private;
    private constructor();
    static isolated(values?: Record<string, unknown>): Settings;
    static readonly init: (...args: unknown[]) => never;
    get(name: string): unknown;
    set(name: string, value: unknown): void;
}
/** A session that lives as long as the object: a list of entries, each after the one before. */
export declare class SessionManager {
    #private;
    private constructor();
    static inMemory(cwd?: string): SessionManager;
    static readonly create: (...args: unknown[]) => never;
    static readonly open: (...args: unknown[]) => never;
    static readonly continueRecent: (...args: unknown[]) => never;
    static readonly list: (...args: unknown[]) => never;
    appendMessage(message: Entry): string;
    appendCustomEntry(customType: string, data?: unknown): string;
    getBranch(): Entry[];
    getEntries(): Entry[];
    getLeafId(): string | null;
    getSessionId(): string;
    getSessionFile(): undefined;
    getCwd(): string;
}
export {};
