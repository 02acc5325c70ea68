import Default, { constants, Database, SQLiteError } from "bun:sqlite";
const attempt = (action: () => unknown): string => {
  try {
    return JSON.stringify(action(), (_key, value) => (typeof value === "bigint" ? `${value}n` : value));
  } catch (error: any) {
    return `${error.name} ${error.code ?? ""} ${error.message}`;
  }
};
class Person {
  name = "";
  get shout() { return this.name.toUpperCase(); }
}
export default () => ({
  name: "db",
  description: "d",
  parameters: { type: "object" },
  execute() {
    const db = new Database("people.sqlite", { create: true });
    const made = db.run("CREATE TABLE IF NOT EXISTS people (id INTEGER PRIMARY KEY, name TEXT UNIQUE, data BLOB); CREATE TABLE other (n)");
    const insert = db.prepare("INSERT INTO people (name, data) VALUES ($name, $data)");
    const big = db.query("SELECT 9007199254740993 AS n");
    const addAll = db.transaction((names: string[]) => {
      for (const name of names) insert.run({ $name: name });
      return names.length;
    });
    const lines = [
      ["made", () => made.changes],
      ["run", () => insert.run({ $name: "Ada", $data: new Uint8Array([1, 2]) })],
      ["exec", () => db.exec("INSERT INTO people (name) VALUES (?)", "Bob")],
      ["get", () => db.query("SELECT * FROM people WHERE name = ?").get("Ada")],
      ["missing", () => db.query("SELECT * FROM people WHERE name = ?1").get(["nobody"])],
      ["all", () => db.query("SELECT id, name FROM people WHERE id > $id").all({ $id: 1 })],
      ["values", () => db.query("SELECT id, name FROM people").values()],
      ["iterate", () => [...db.query("SELECT name FROM people")]],
      ["as", () => (db.query("SELECT name FROM people").as(Person).get() as Person).shout],
      ["boolean", () => db.query("SELECT ? AS yes, ? AS none").get(true, null)],
      ["columns", () => [db.query("SELECT id, name FROM people WHERE id = ? OR name = $n").columnNames, db.query("SELECT ?, $n, '?'").paramsCount]],
      ["unique", () => insert.run({ $name: "Ada" })],
      ["syntax", () => db.run("SELEC")],
      ["transaction", () => addAll(["Cid", "Dan"])],
      ["rolled back", () => addAll(["Eve", "Ada"])],
      ["then", () => [db.query("SELECT count(*) AS n FROM people").get(), db.inTransaction]],
      ["nested", () => db.transaction(() => { addAll(["Fay"]); return attempt(() => addAll(["Gus", "Ada"])); }).immediate()],
      ["number", () => typeof (big.get() as any).n],
      ["bigint", () => big.safeIntegers().get()],
      ["strict", () => new Database(":memory:", { strict: true }).query("SELECT $a AS a").get({ a: 1 })],
      ["strict missing", () => new Database(":memory:", { strict: true }).query("SELECT $a AS a").get({ b: 1 })],
      ["readonly", () => new Database("people.sqlite", { readonly: true }).run("DELETE FROM people")],
      ["no file", () => new Database("nowhere.sqlite", { readwrite: true })],
      ["copied", () => Database.deserialize(db.serialize()).query("SELECT count(*) AS n FROM people").get()],
      ["finalized", () => { const s = db.prepare("SELECT 1"); s.finalize(); return s.get(); }],
      ["names", () => [Default === Database, constants.SQLITE_OPEN_CREATE, SQLiteError.name, db.filename, `${db.query("SELECT 1")}`]],
      ["closed", () => { db.close(); db.close(); return "twice"; }],
    ] as [string, () => unknown][];
    const text = lines.map(([what, action]) => `${what}: ${attempt(action)}`).join("\n");
    return { content: [{ type: "text", text }] };
  },
});
