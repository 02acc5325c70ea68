// A prepared statement of `bun:sqlite`.

import { translated } from "./error.ts";
import type { StatementSync } from "./native.ts";
import { bindings, parametersOf } from "./parameters.ts";

/** Result of a change. */
export interface Changes {
  changes: number;
  lastInsertRowid: number | bigint;
}

type Row = Record<string, unknown>;

export class Statement {
  readonly #sql: string;
  readonly #isStrict: boolean;
  readonly #names: string[];
  readonly paramsCount: number;
  #native: StatementSync | undefined;
  #isSafe: boolean;
  #rowClass: { prototype: object } | undefined;
  #bound: unknown[];

  /** For `Database`; `bound` is what calls without parameters bind. */
  constructor(
    native: StatementSync,
    sql: string,
    { isStrict, isSafe, bound }: { isStrict: boolean; isSafe: boolean; bound: unknown[] },
  ) {
    this.#native = native;
    this.#sql = sql;
    this.#isStrict = isStrict;
    this.#isSafe = isSafe;
    this.#bound = bound;
    const { names, count } = parametersOf(sql);
    this.#names = names;
    this.paramsCount = count;
    // A number that is too large for JavaScript must not fail: see `#value`.
    native.setReadBigInts(true);
    native.setAllowUnknownNamedParameters(true);
  }

  get native(): StatementSync {
    if (this.#native === undefined) throw new Error("Statement has finalized");
    return this.#native;
  }

  get columnNames(): string[] {
    return this.native.columns().map(({ name }) => name);
  }

  get declaredTypes(): (string | null)[] {
    return this.native.columns().map(({ type }) => type ?? null);
  }

  all(...given: unknown[]): unknown[] {
    return this.#rows(given).map((row) => this.#row(row));
  }

  get(...given: unknown[]): unknown {
    const native = this.native;
    native.setReturnArrays(false);
    const row = translated(() => native.get(...this.#bind(given)));
    return row === undefined ? null : this.#row(row as Row);
  }

  run(...given: unknown[]): Changes {
    const native = this.native;
    const { changes, lastInsertRowid } = translated(() => native.run(...this.#bind(given)));
    return { changes: Number(changes), lastInsertRowid: this.#value(lastInsertRowid) as number };
  }

  values(...given: unknown[]): unknown[][] {
    const native = this.native;
    native.setReturnArrays(true);
    const rows = translated(() => native.all(...this.#bind(given))) as unknown as unknown[][];
    return rows.map((row) => row.map((value) => this.#value(value)));
  }

  raw(...given: unknown[]): unknown[][] {
    return this.values(...given);
  }

  *iterate(...given: unknown[]): IterableIterator<unknown> {
    const native = this.native;
    native.setReturnArrays(false);
    for (const row of translated(() => native.iterate(...this.#bind(given)))) {
      yield this.#row(row as Row);
    }
  }

  [Symbol.iterator](): IterableIterator<unknown> {
    return this.iterate();
  }

  /** Rows become objects of the class, whose constructor is not called. */
  as(rowClass: { prototype: object }): this {
    this.#rowClass = rowClass;
    return this;
  }

  safeIntegers(isSafe = true): this {
    this.#isSafe = isSafe;
    return this;
  }

  finalize(): void {
    this.#native = undefined;
  }

  [Symbol.dispose](): void {
    this.finalize();
  }

  toString(): string {
    return this.#native?.expandedSQL ?? this.#sql;
  }

  #bind(given: unknown[]): any[] {
    return bindings(given.length > 0 ? given : this.#bound, this.#names, this.#isStrict);
  }

  #rows(given: unknown[]): Row[] {
    const native = this.native;
    native.setReturnArrays(false);
    return translated(() => native.all(...this.#bind(given))) as Row[];
  }

  #row(row: Row): object {
    const made = this.#rowClass === undefined ? {} : Object.create(this.#rowClass.prototype);
    for (const name of Object.keys(row)) made[name] = this.#value(row[name]);
    return made;
  }

  #value(value: unknown): unknown {
    return typeof value === "bigint" && !this.#isSafe ? Number(value) : value;
  }
}
