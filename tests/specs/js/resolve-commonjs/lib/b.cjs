const a = require("./a.cjs");
exports.seen = `b saw a ${a.early}`;
