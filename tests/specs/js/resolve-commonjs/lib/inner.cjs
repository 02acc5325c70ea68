exports.esm = require("./modern.mjs").value;
exports.json = require("./list");
exports.cycle = require("./b.cjs").seen;
exports.dir = __dirname;
exports.file = __filename;
exports.resolved = require.resolve("./list.json");
try {
  require("./nowhere");
} catch (error) {
  exports.missing = error.code;
}
