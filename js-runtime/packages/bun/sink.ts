// Something to write to piece by piece: the stdin of a process, or a file.
//
// `write` and `flush` answer with numbers as in Bun; what went wrong on the way to a file is said
// by `flush` or `end`.

import { builtin } from "../builtin.ts";
import { bytesNow, describe } from "./streams.ts";

export class FileSink {
  readonly #target: NodeJS.WritableStream;
  readonly #report: boolean;
  #failure: Error | undefined;
  #unflushed = 0;
  #total = 0;

  private constructor(target: NodeJS.WritableStream, report: boolean) {
    this.#target = target;
    this.#report = report;
    target.on("error", (error) => {
      this.#failure ??= error;
    });
  }

  /** A program may end before it has read everything; that is not an error of the writer. */
  static toProcess(stdin: NodeJS.WritableStream): FileSink {
    return new FileSink(stdin, false);
  }

  static toFile(path: string): FileSink {
    return new FileSink(builtin("node:fs").createWriteStream(path), true);
  }

  write(data: unknown): number {
    const bytes = bytesNow(data);
    if (!bytes) throw new TypeError(`expected a string or bytes, not ${describe(data)}`);
    this.#target.write(bytes);
    this.#unflushed += bytes.length;
    this.#total += bytes.length;
    return bytes.length;
  }

  async flush(): Promise<number> {
    const flushed = this.#unflushed;
    this.#unflushed = 0;
    await this.#done((done) => this.#target.write("", done));
    return flushed;
  }

  async end(): Promise<number> {
    await this.#done((done) => this.#target.end(done));
    return this.#total;
  }

  #done(start: (done: (error?: Error | null) => void) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      start((error) => {
        const reported = this.#report ? (this.#failure ?? error) : undefined;
        if (reported) reject(reported);
        else resolve();
      });
    });
  }

  start(): void {}
  ref(): void {}
  unref(): void {}
}
