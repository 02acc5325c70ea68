type Context = Record<string, unknown>;
export declare const logger: {
    debug: (message: string, context?: Context) => void;
    info: (message: string, context?: Context) => void;
    warn: (message: string, context?: Context) => void;
    error: (message: string, context?: Context) => void;
    /** Runs `work`; the original also notes how long it took. */
    time: <T>(_name: string, work?: () => T) => T | undefined;
};
export {};
