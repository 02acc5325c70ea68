// `bun:sqlite` over `node:sqlite`.
//
// Rows are plain objects, integers are numbers unless `safeIntegers` requests BigInt, and `get` returns
// null if the row is missing, as in Bun. Errors carry SQLite's own code (`SQLITE_BUSY`).

import { Database } from "./database.ts";

export { Database };
export default Database;
export { SQLiteError } from "./error.ts";
export { Statement } from "./statement.ts";

/** The flags that the constructor takes in the place of options. */
export const constants = {
  SQLITE_OPEN_READONLY: 0x1,
  SQLITE_OPEN_READWRITE: 0x2,
  SQLITE_OPEN_CREATE: 0x4,
  SQLITE_OPEN_DELETEONCLOSE: 0x8,
  SQLITE_OPEN_URI: 0x40,
  SQLITE_OPEN_MEMORY: 0x80,
  SQLITE_OPEN_NOMUTEX: 0x8000,
  SQLITE_OPEN_FULLMUTEX: 0x10000,
  SQLITE_PREPARE_PERSISTENT: 0x1,
};
