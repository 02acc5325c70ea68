// `Bun.file` and `Bun.write`.
//
// A file is a Blob that reads the disk when it is asked, so it fits wherever a Blob does. Making
// one touches nothing; a file that is missing has size 0 and fails when it is read.

import { builtin } from "../builtin.ts";
import { typeOf } from "./mime.ts";
import { FileSink } from "./sink.ts";
import { describe, toBytes } from "./streams.ts";

/** Modification time that Bun returns for a missing file. */
const NEVER_MODIFIED = 4503599627370495;

type Bytes = Uint8Array<ArrayBuffer>;
type Range = { start: number; end: number };

const fs = () => builtin("node:fs").promises;

/** A file on the disk, or a range of one. */
export class BunFile extends Blob {
  readonly name: string;
  readonly #type: string;
  readonly #range: Range | undefined;

  constructor(path: string, type?: string, range?: Range) {
    super([]);
    this.name = path;
    this.#type = type ?? typeOf(path);
    this.#range = range;
  }

  override get type(): string {
    return this.#type;
  }

  override get size(): number {
    const size = Number(
      builtin("node:fs").statSync(this.name, { throwIfNoEntry: false })?.size ?? 0,
    );
    if (!this.#range) return size;
    return Math.max(0, Math.min(this.#range.end, size) - Math.min(this.#range.start, size));
  }

  get lastModified(): number {
    const stat = builtin("node:fs").statSync(this.name, { throwIfNoEntry: false });
    return stat ? Math.trunc(Number(stat.mtimeMs)) : NEVER_MODIFIED;
  }

  async exists(): Promise<boolean> {
    return fs()
      .stat(this.name)
      .then(
        (stat) => !stat.isDirectory(),
        () => false,
      );
  }

  override async bytes(): Promise<Bytes> {
    const whole = new Uint8Array(await fs().readFile(this.name));
    return this.#range ? whole.slice(this.#range.start, this.#range.end) : whole;
  }

  override async text(): Promise<string> {
    return new TextDecoder().decode(await this.bytes());
  }

  async json(): Promise<any> {
    return JSON.parse(await this.text());
  }

  override async arrayBuffer(): Promise<ArrayBuffer> {
    return (await this.bytes()).buffer;
  }

  override stream(): ReadableStream<Bytes> {
    let read: Promise<Bytes> | undefined;
    let at = 0;
    return new ReadableStream<Bytes>({
      pull: async (controller) => {
        read ??= this.bytes();
        const bytes = await read;
        const chunk = bytes.slice(at, at + 65536);
        at += chunk.length;
        if (chunk.length > 0) controller.enqueue(chunk);
        if (at >= bytes.length) controller.close();
      },
    });
  }

  override slice(start = 0, end = Number.POSITIVE_INFINITY, type?: string): BunFile {
    const size = this.size;
    const place = (index: number) =>
      index < 0 ? Math.max(0, size + index) : Math.min(index, size);
    const offset = this.#range?.start ?? 0;
    const range = { start: offset + place(start), end: offset + place(end) };
    return new BunFile(this.name, type ?? this.#type, range);
  }

  writer(): FileSink {
    return FileSink.toFile(this.name);
  }

  async write(data: unknown): Promise<number> {
    return write(this, data);
  }

  async delete(): Promise<void> {
    await fs().unlink(this.name);
  }

  async unlink(): Promise<void> {
    await this.delete();
  }

  async stat() {
    return fs().stat(this.name);
  }
}

/** A file that takes bytes in another way than by being written anew. */
export interface Written {
  put(bytes: Uint8Array): void;
}

/** A file, whether it exists or not. */
export function file(path: string | URL, options: { type?: string } = {}): BunFile {
  return new BunFile(pathOf(path), options.type);
}

/** Writes `data` to a file, makes the folders above it, and says how many bytes it was. */
export async function write(
  destination: string | URL | BunFile,
  data: unknown,
  options: { createPath?: boolean; mode?: number } = {},
): Promise<number> {
  const path = destination instanceof BunFile ? destination.name : pathOf(destination);
  const bytes = await toBytes(data);
  const taking = destination as Partial<Written>;
  if (destination instanceof BunFile && typeof taking.put === "function") {
    taking.put(bytes);
    return bytes.length;
  }
  const put = () => fs().writeFile(path, bytes, { mode: options.mode ?? 0o666 });
  await put().catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT" || options.createPath === false) throw error;
    await fs().mkdir(builtin("node:path").dirname(path), { recursive: true });
    await put();
  });
  return bytes.length;
}

function pathOf(path: unknown): string {
  if (typeof path === "string") return path;
  if (path instanceof URL) return builtin("node:url").fileURLToPath(path);
  throw new TypeError(`expected a path or a file: URL, not ${describe(path)}`);
}
