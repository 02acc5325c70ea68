// Errors of SQLite as Bun throws them.

/** SQLite's result codes by their numbers. */
const CODES =
  "OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB".split(
    " ",
  );

/** Names of constraints, by the upper byte of the extended code. */
const CONSTRAINTS =
  "CHECK COMMITHOOK FOREIGNKEY FUNCTION NOTNULL PRIMARYKEY TRIGGER UNIQUE VTAB ROWID PINNED DATATYPE".split(
    " ",
  );

const CONSTRAINT = 19;

export class SQLiteError extends Error {
  override name = "SQLiteError";
  readonly code: string | undefined;
  readonly errno: number;
  readonly byteOffset = -1;

  constructor(message: string, errno = 1) {
    super(message);
    this.errno = errno;
    this.code = codeOf(errno);
  }
}

function codeOf(errno: number): string | undefined {
  const base = CODES[errno & 0xff];
  if (base === undefined) return undefined;
  const kind = (errno & 0xff) === CONSTRAINT ? CONSTRAINTS[(errno >> 8) - 1] : undefined;
  return kind === undefined ? `SQLITE_${base}` : `SQLITE_${base}_${kind}`;
}

/** The numbers of errors, by what SQLite says of them. */
const SAID: [RegExp, number][] = [
  [/is locked/, 5],
  [/readonly database/, 8],
  [/is malformed/, 11],
  [/database or disk is full/, 13],
  [/unable to open database/, CODES.indexOf("CANTOPEN")],
  [/^UNIQUE constraint/, 2067],
  [/^NOT NULL constraint/, 1299],
  [/^CHECK constraint/, 275],
  [/^FOREIGN KEY constraint/, 787],
  [/constraint failed/, CONSTRAINT],
  [/not a database/, 26],
];

function numberOf(message: string): number {
  return SAID.find(([pattern]) => pattern.test(message))?.[1] ?? 1;
}

/** Runs `action`; what `node:sqlite` throws for SQLite is thrown in Bun's form. */
export function translated<T>(action: () => T): T {
  try {
    return action();
  } catch (error: any) {
    if (error?.code !== "ERR_SQLITE_ERROR") throw error;
    // What `exec` throws has no number, and the statement behind its message.
    const message = String(error.message).replace(/ in [\s\S]* at offset \d+$/, "");
    throw new SQLiteError(message, error.errcode ?? numberOf(message));
  }
}
