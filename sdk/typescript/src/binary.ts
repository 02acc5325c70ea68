// Finds haft's program. The launcher `bin/haft.cjs` and the library use the same search.

import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, join, resolve, sep } from "node:path";

import { HaftError } from "./errors.js";

/** Name of the optional package with the program for this platform: `@haft/linux-x64`. */
export function platformPackage(): string {
  return `@haft/${process.platform}-${process.arch}`;
}

/** File name of the program. */
export const PROGRAM = process.platform === "win32" ? "haft.exe" : "haft";

/**
 * Returns the path of haft's program: `binary`, the variable `HAFT_BINARY`, the optional package of this platform,
 * then `haft` on the `PATH`.
 *
 * @throws {HaftError} of the kind `no-binary`
 */
export function findBinary(
  binary?: string,
  env: Record<string, string | undefined> = process.env,
): string {
  if (binary !== undefined) return given(binary, "the option `binary`");
  if (env["HAFT_BINARY"]) return given(env["HAFT_BINARY"], "the variable HAFT_BINARY");
  const found = inPlatformPackage() ?? onPath(env["PATH"] ?? env["Path"] ?? "");
  if (found !== undefined) return found;
  throw new HaftError(
    "no-binary",
    `cannot find haft's program: the package ${platformPackage()} is not installed, and there is no \`haft\` on the PATH`,
    "install without `--omit=optional`, or set HAFT_BINARY to the program's path",
  );
}

function given(path: string, by: string): string {
  const absolute = resolve(path);
  if (isProgram(absolute)) return absolute;
  throw new HaftError("no-binary", `${by} names \`${path}\`, which is not a program`);
}

function inPlatformPackage(): string | undefined {
  let manifest: string;
  try {
    manifest = require.resolve(`${platformPackage()}/package.json`);
  } catch {
    return undefined;
  }
  const program = join(dirname(manifest), "bin", PROGRAM);
  return isProgram(program) ? program : undefined;
}

function onPath(path: string): string | undefined {
  // npm puts the launcher of this package on the PATH of scripts; it must not find itself.
  const own = realpathSync(dirname(__dirname)) + sep;
  for (const folder of path.split(delimiter)) {
    const program = join(folder, PROGRAM);
    if (folder !== "" && isProgram(program) && !realpathSync(program).startsWith(own)) {
      return program;
    }
  }
  return undefined;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
