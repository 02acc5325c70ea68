// A database of `bun:sqlite`.

import { builtin } from "../builtin.ts";
import { unavailable } from "../unavailable.ts";
import { SQLiteError, translated } from "./error.ts";
import type { DatabaseSync } from "./native.ts";
import { type Changes, Statement } from "./statement.ts";

interface Options {
  readonly?: boolean;
  create?: boolean;
  readwrite?: boolean;
  strict?: boolean;
  safeIntegers?: boolean;
}

type Action = (...args: any[]) => unknown;

/** A function inside of a transaction, with the ways to begin one. */
interface Transaction extends Action {
  deferred: Action;
  immediate: Action;
  exclusive: Action;
}

const CANNOT_OPEN = 14;
const FLAGS = { readonly: 0x1, readwrite: 0x2, create: 0x4 };

export class Database {
  readonly filename: string;
  readonly #native: DatabaseSync;
  readonly #options: Options;
  readonly #queries = new Map<string, Statement>();
  #depth = 0;

  static open(filename?: string, options?: number | Options): Database {
    return new Database(filename, options);
  }

  /** A database in memory with the contents of `bytes`. */
  static deserialize(bytes: Uint8Array, options?: boolean | Options): Database {
    const database = new Database(":memory:", typeof options === "object" ? options : {});
    translated(() => database.#native.deserialize(bytes));
    return database;
  }

  static readonly setCustomSQLite = unavailable(
    "bun:sqlite",
    "Database.setCustomSQLite",
    "haft has SQLite in it",
  );

  constructor(filename = ":memory:", options: number | Options = {}) {
    const wanted = typeof options === "number" ? fromFlags(options) : options;
    this.#options = wanted;
    this.filename = filename === "" ? ":memory:" : filename;
    const isFile = this.filename !== ":memory:" && !this.filename.startsWith("file:");
    // What says how to open, and not that the file may be made.
    const mustExist = wanted.readwrite === true && wanted.create !== true;
    if (isFile && mustExist && !builtin("node:fs").existsSync(this.filename)) {
      throw new SQLiteError("unable to open database file", CANNOT_OPEN);
    }
    const { DatabaseSync } = builtin("node:sqlite");
    this.#native = translated(
      () =>
        new DatabaseSync(this.filename, {
          readOnly: wanted.readonly === true && isFile,
          // As SQLite itself has them.
          enableForeignKeyConstraints: false,
          enableDoubleQuotedStringLiterals: true,
        }),
    );
  }

  get inTransaction(): boolean {
    return this.#native.isTransaction;
  }

  /** A statement that is kept for the next time. */
  query(sql: string): Statement {
    let known = this.#queries.get(sql);
    if (known === undefined) this.#queries.set(sql, (known = this.prepare(sql)));
    return known;
  }

  prepare(sql: string, ...given: unknown[]): Statement {
    const native = translated(() => this.#native.prepare(sql));
    const { strict, safeIntegers } = this.#options;
    return new Statement(native, sql, {
      isStrict: strict === true,
      isSafe: safeIntegers === true,
      bound: given,
    });
  }

  /** Runs one statement with parameters, or any number without. */
  run(sql: string, ...given: unknown[]): Changes {
    if (given.length > 0) return this.prepare(sql).run(...given);
    const before = this.#changes().total;
    translated(() => this.#native.exec(sql));
    const { total, row } = this.#changes();
    return { changes: total - before, lastInsertRowid: row };
  }

  exec(sql: string, ...given: unknown[]): Changes {
    return this.run(sql, ...given);
  }

  #changes(): { total: number; row: number } {
    const sql = "SELECT total_changes() AS total, last_insert_rowid() AS row";
    return this.#native.prepare(sql).get() as { total: number; row: number };
  }

  /** `action` inside of a transaction; inside of another one it is a savepoint. */
  transaction(action: Action): Transaction {
    const database = this;
    const within = (begin: string) =>
      function (this: unknown, ...args: unknown[]): unknown {
        return database.#within(begin, () => action.apply(this, args));
      };
    const plain = within("BEGIN") as Transaction;
    plain.deferred = within("BEGIN DEFERRED");
    plain.immediate = within("BEGIN IMMEDIATE");
    plain.exclusive = within("BEGIN EXCLUSIVE");
    return plain;
  }

  #within(begin: string, action: () => unknown): unknown {
    const point = `haft_${this.#depth}`;
    const [start, commit, undo] = this.inTransaction
      ? [`SAVEPOINT ${point}`, `RELEASE ${point}`, `ROLLBACK TO ${point}; RELEASE ${point}`]
      : [begin, "COMMIT", "ROLLBACK"];
    translated(() => this.#native.exec(start));
    this.#depth += 1;
    try {
      const result = action();
      translated(() => this.#native.exec(commit));
      return result;
    } catch (error) {
      // SQLite itself has undone it after some errors.
      if (this.inTransaction) this.#native.exec(undo);
      throw error;
    } finally {
      this.#depth -= 1;
    }
  }

  serialize(name?: string): Uint8Array {
    return translated(() => this.#native.serialize(...(name ? [name] : [])));
  }

  loadExtension(): never {
    throw new Error("bun:sqlite: haft loads no extensions of SQLite");
  }

  clearQueryCache(): void {
    this.#queries.clear();
  }

  close(): void {
    this.clearQueryCache();
    // Closing twice is fine, as in Bun.
    if (this.#native.isOpen) this.#native.close();
  }

  [Symbol.dispose](): void {
    this.close();
  }
}

function fromFlags(flags: number): Options {
  return {
    readonly: (flags & FLAGS.readonly) !== 0,
    readwrite: (flags & FLAGS.readwrite) !== 0,
    create: (flags & FLAGS.create) !== 0,
  };
}
