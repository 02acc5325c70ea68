exports.early = "early";
require("./b.cjs");
