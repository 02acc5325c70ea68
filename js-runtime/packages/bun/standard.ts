// `Bun.stdin`, `Bun.stdout` and `Bun.stderr`.
//
// A tool's standard streams are not those of the host: the input is empty, and output goes
// where `process.stdout` writes.

import { builtin } from "../builtin.ts";
import { BunFile, type Written } from "./file.ts";

class Output extends BunFile implements Written {
  readonly #name: "stdout" | "stderr";

  constructor(name: "stdout" | "stderr") {
    super("/dev/null");
    this.#name = name;
  }

  put(bytes: Uint8Array): void {
    builtin("node:process")[this.#name].write(bytes);
  }
}

let streams: { stdin: BunFile; stdout: BunFile; stderr: BunFile } | undefined;

/** The three streams, made when one is asked for. */
export function standardStreams(): { stdin: BunFile; stdout: BunFile; stderr: BunFile } {
  streams ??= {
    stdin: new BunFile("/dev/null"),
    stdout: new Output("stdout"),
    stderr: new Output("stderr"),
  };
  return streams;
}
