// `Bun.$`: a template whose values are arguments, whatever is in them.
//
// The text around the values is given to the system's `sh`, so pipes, redirects, `&&`, `||`,
// variables, globs and `$( )` mean what they mean there. Not covered: Bun's own builtins and its
// cross-platform syntax (`**`, `{a,b}`), buffers and responses as redirect targets, and streaming
// to the caller while a command runs. Output that is not read goes to the tool's log.

import { builtin } from "../builtin.ts";
import { BunFile } from "./file.ts";
import { spawn } from "./spawn.ts";

type Bytes = Buffer;

/** Output of a command and its exit code. */
class ShellOutput {
  readonly stdout: Bytes;
  readonly stderr: Bytes;
  readonly exitCode: number;

  constructor(stdout: Bytes, stderr: Bytes, exitCode: number) {
    this.stdout = stdout;
    this.stderr = stderr;
    this.exitCode = exitCode;
  }

  text(encoding?: BufferEncoding): string {
    return this.stdout.toString(encoding);
  }

  json(): any {
    return JSON.parse(this.text());
  }

  bytes(): Uint8Array {
    return new Uint8Array(this.stdout);
  }

  arrayBuffer(): ArrayBuffer {
    return this.bytes().buffer as ArrayBuffer;
  }

  blob(): Blob {
    return new Blob([this.arrayBuffer()]);
  }
}

/** A command that ended with a code other than 0. */
export class ShellError extends Error {
  override name = "ShellError";
  readonly exitCode: number;
  readonly stdout: Bytes;
  readonly stderr: Bytes;

  constructor(output: ShellOutput) {
    super(`Failed with exit code ${output.exitCode}`);
    this.exitCode = output.exitCode;
    this.stdout = output.stdout;
    this.stderr = output.stderr;
  }

  text(encoding?: BufferEncoding): string {
    return this.stdout.toString(encoding);
  }

  json(): any {
    return JSON.parse(this.text());
  }
}

interface Settings {
  cwd?: string | undefined;
  env?: Record<string, string | undefined> | undefined;
  throws: boolean;
}

/** A command that starts when its result is first asked for. */
class ShellPromise implements PromiseLike<ShellOutput> {
  readonly #script: string;
  readonly #settings: Settings;
  #quiet = false;
  #running: Promise<ShellOutput> | undefined;

  constructor(script: string, settings: Settings) {
    this.#script = script;
    this.#settings = settings;
  }

  cwd(path: string): this {
    this.#settings.cwd = path;
    return this;
  }

  env(env: Record<string, string | undefined> | undefined): this {
    this.#settings.env = env;
    return this;
  }

  quiet(quiet = true): this {
    this.#quiet = quiet;
    return this;
  }

  nothrow(): this {
    return this.throws(false);
  }

  throws(doThrow: boolean): this {
    this.#settings.throws = doThrow;
    return this;
  }

  async text(encoding?: BufferEncoding): Promise<string> {
    return (await this.quiet()).text(encoding);
  }

  async json(): Promise<any> {
    return (await this.quiet()).json();
  }

  async bytes(): Promise<Uint8Array> {
    return (await this.quiet()).bytes();
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.quiet()).arrayBuffer();
  }

  async blob(): Promise<Blob> {
    return (await this.quiet()).blob();
  }

  async *lines(): AsyncGenerator<string> {
    yield* (await this.text()).split(/\r?\n/);
  }

  run(): this {
    this.#running ??= this.#start();
    return this;
  }

  then<A = ShellOutput, B = never>(
    onDone?: ((output: ShellOutput) => A | PromiseLike<A>) | null,
    onFailed?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#running ??= this.#start();
    return this.#running.then(onDone, onFailed);
  }

  catch<B>(onFailed: (reason: unknown) => B | PromiseLike<B>): Promise<ShellOutput | B> {
    return this.then(undefined, onFailed);
  }

  finally(onEnd: () => void): Promise<ShellOutput> {
    return this.then().finally(onEnd);
  }

  async #start(): Promise<ShellOutput> {
    // The other calls of a chain come after the template, so they have the time until the next
    // microtask to change the settings.
    await undefined;
    const { cwd, env, throws } = this.#settings;
    const child = spawn(["sh", "-c", this.#script], {
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
      stderr: "pipe",
    });
    const { Buffer } = builtin("node:buffer");
    const [stdout, stderr, code] = await Promise.all([
      child.stdout?.arrayBuffer() ?? new ArrayBuffer(),
      child.stderr?.arrayBuffer() ?? new ArrayBuffer(),
      child.exited,
    ]);
    const output = new ShellOutput(Buffer.from(stdout), Buffer.from(stderr), code);
    if (!this.#quiet) show(output);
    if (code !== 0 && throws) throw new ShellError(output);
    return output;
  }
}

function show({ stdout, stderr }: ShellOutput): void {
  if (stdout.length > 0) console.log(stdout.toString().replace(/\n$/, ""));
  if (stderr.length > 0) console.error(stderr.toString().replace(/\n$/, ""));
}

const defaults: Settings = { throws: true };

/** Runs the template as a command. */
function run(template: TemplateStringsArray, ...values: unknown[]): ShellPromise {
  return new ShellPromise(scriptOf(template.raw, values), { ...defaults });
}

export const $ = Object.assign(run, {
  ShellError,
  ShellOutput,
  escape: (text: string): string => (isPlain(text) ? text : quote(text)),
  cwd(path?: string) {
    defaults.cwd = path;
    return $;
  },
  env(env?: Record<string, string | undefined>) {
    defaults.env = env;
    return $;
  },
  nothrow() {
    defaults.throws = false;
    return $;
  },
  throws(doThrow: boolean) {
    defaults.throws = doThrow;
    return $;
  },
});

/**
 * The script, with each value quoted for where it stands. Inside of quotes the value closes them,
 * stands in its own, and opens them again.
 */
function scriptOf(texts: readonly string[], values: unknown[]): string {
  let script = "";
  let open = "";
  texts.forEach((text, index) => {
    script += text;
    open = quoteAfter(text, open);
    if (index < values.length) script += open + argument(values[index]) + open;
  });
  return script;
}

/** The quote that is open at the end of `text`, if one was open before it. */
function quoteAfter(text: string, before: string): string {
  let open = before;
  for (let at = 0; at < text.length; at++) {
    const character = text[at] as string;
    if (character === "\\" && open !== "'") at++;
    else if (open === "" && (character === "'" || character === '"')) open = character;
    else if (character === open) open = "";
  }
  return open;
}

function argument(value: unknown): string {
  if (Array.isArray(value)) return value.map(argument).join(" ");
  if (value instanceof BunFile) return quote(value.name);
  if (typeof value === "object" && value !== null) {
    const raw = (value as { raw?: unknown }).raw;
    if (typeof raw === "string") return raw;
    if (
      ArrayBuffer.isView(value) ||
      value instanceof Blob ||
      value instanceof Response ||
      value instanceof ReadableStream
    ) {
      throw new TypeError(
        "bytes, blobs and responses cannot be part of a command here: write them to a file first",
      );
    }
    if (value.toString === Object.prototype.toString) {
      throw new TypeError(
        `Invalid JS object used in shell: ${value}, you might need to call \`.toString()\` on it`,
      );
    }
  }
  return quote(String(value));
}

function quote(text: string): string {
  if (text.includes("\0")) throw new TypeError("a command cannot hold a NUL character");
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function isPlain(text: string): boolean {
  return /^[\w@%+=:,./-]+$/.test(text);
}
