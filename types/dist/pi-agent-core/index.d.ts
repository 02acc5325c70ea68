export declare const Agent: (...args: unknown[]) => never;
export declare const agentLoop: (...args: unknown[]) => never;
export declare const agentLoopContinue: (...args: unknown[]) => never;
