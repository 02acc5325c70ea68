const word: string = "old";
exports.i = word;
