// Where the original keeps its things, and which version of it haft answers for.

import { builtin } from "../builtin.ts";

/** The last version whose tools had the real zod (spec omp 0). Not haft's own version. */
export const VERSION = "16.0.5";

export const CONFIG_DIR_NAME = ".omp";

/** The agent's folder, which the same variables move as in the original. */
export function getAgentDir(): string {
  const { env } = builtin("node:process");
  const { homedir } = builtin("node:os");
  const { join } = builtin("node:path");
  return (
    env["PI_CODING_AGENT_DIR"] || join(homedir(), env["PI_CONFIG_DIR"] || CONFIG_DIR_NAME, "agent")
  );
}
