/** A function, also usable as a class, that throws what the reason is. */
export declare function unavailable(packageName: string, name: string, reason: string): (...args: unknown[]) => never;
