// What is used of `node:sqlite`, which the types for Node 20 do not have.

export interface StatementSync {
  all(...parameters: any[]): unknown[];
  get(...parameters: any[]): unknown;
  iterate(...parameters: any[]): Iterable<unknown>;
  run(...parameters: any[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  columns(): { name: string; type: string | null }[];
  setReadBigInts(wanted: boolean): void;
  setReturnArrays(wanted: boolean): void;
  setAllowUnknownNamedParameters(wanted: boolean): void;
  readonly expandedSQL: string;
}

export interface DatabaseSync {
  exec(sql: string): void;
  prepare(sql: string): StatementSync;
  close(): void;
  serialize(name?: string): Uint8Array;
  deserialize(bytes: Uint8Array): void;
  readonly isOpen: boolean;
  readonly isTransaction: boolean;
}

export interface SqliteModule {
  DatabaseSync: new (
    path: string,
    options: {
      readOnly: boolean;
      enableForeignKeyConstraints: boolean;
      enableDoubleQuotedStringLiterals: boolean;
    },
  ) => DatabaseSync;
}
