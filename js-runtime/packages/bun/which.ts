// Where a program is, found as a shell would.

import { builtin } from "../builtin.ts";

export interface WhichOptions {
  PATH?: string | undefined;
  cwd?: string | undefined;
}

/** The absolute path of an executable file, or null. */
export function which(command: string, options: WhichOptions = {}): string | null {
  const { delimiter, isAbsolute, resolve } = builtin("node:path");
  const { cwd, env } = builtin("node:process");
  const from = options.cwd ?? cwd();
  if (command === "") return null;
  if (isAbsolute(command) || command.includes("/")) {
    const path = resolve(from, command);
    return isExecutable(path) ? path : null;
  }
  const folders = (options.PATH ?? env["PATH"] ?? "").split(delimiter).filter(Boolean);
  return folders.map((folder) => resolve(from, folder, command)).find(isExecutable) ?? null;
}

function isExecutable(path: string): boolean {
  const { accessSync, constants, statSync } = builtin("node:fs");
  try {
    if (!statSync(path).isFile()) return false;
  } catch (error) {
    if (isNotPermitted(error)) throw error;
    return false;
  }
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch (error) {
    // Whose the process is needs a permission of its own; without it any right to execute will do.
    return isNotPermitted(error) && (statSync(path).mode & 0o111) !== 0;
  }
}

/** Returns true if the permissions refused the operation. */
export function isNotPermitted(error: unknown): boolean {
  return error instanceof Error && error.name === "NotCapable";
}
