exports.answer = 42;
Object.assign(exports, require("./lib/inner.cjs"));
