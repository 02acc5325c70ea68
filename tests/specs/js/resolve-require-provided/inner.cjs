const { Database } = require("bun:sqlite");
const { Type } = require("typebox");
const rows = new Database(":memory:").query("select 6 * 7 as n").all();
module.exports = { inner: [rows[0].n, Type.String().type] };
