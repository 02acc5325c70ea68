/** The last version whose tools had the real zod (spec omp 0). Not haft's own version. */
export declare const VERSION = "16.0.5";
export declare const CONFIG_DIR_NAME = ".omp";
/** The agent's folder, which the same variables move as in the original. */
export declare function getAgentDir(): string;
