exports.said = "both.js";
