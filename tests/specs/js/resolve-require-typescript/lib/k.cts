exports.said = "cts" satisfies string;
