type Tool = {
    execute: (...args: any[]) => unknown;
};
/** Returns the tool; it is there so that editors infer the types of the parameters. */
export declare function defineTool<T>(tool: T): T;
/** An error whose message is meant for the model. */
export declare class ToolError extends Error {
    name: string;
    readonly context: Record<string, unknown> | undefined;
    constructor(message: string, context?: Record<string, unknown>);
    render(): string;
}
/**
 * A custom tool in the shape of an agent's own tools, which get the signal before `onUpdate` and
 * the context last. Every other property is the tool's, read when it is asked for.
 */
export declare class CustomToolAdapter {
    constructor(tool: Tool, getContext: () => unknown);
    static wrap(tool: Tool, getContext: () => unknown): CustomToolAdapter;
}
/** Runs `work` after what was queued for the same path before. */
export declare function withFileMutationQueue<T>(path: string, work: () => Promise<T>): Promise<T>;
export {};
