module.exports = typeof Deno;
