// fortune: a tool in CommonJS, the older of JavaScript's two module systems.
//
// `"type": "commonjs"` in the package.json beside it says so. There is `require` for builtins, files
// and JSON, there are `__dirname` and `__filename`, and the factory is `module.exports`.

const { readFileSync } = require("node:fs");
const path = require("path");
const pick = require("./lib/pick");
const { author, year } = require("./about.json");

const sayings = readFileSync(path.join(__dirname, "sayings.txt"), "utf8").trim().split("\n");

module.exports = (pi) => ({
  name: "fortune",
  label: "Fortune",
  description: `One of ${sayings.length} sayings`,
  parameters: pi.zod.object({
    about: pi.zod.string().describe("any word; the same word gives the same saying"),
  }),
  execute: async (_id, { about }) => ({
    content: [{ type: "text", text: pick(sayings, about) }],
    details: { author, year, file: path.basename(__filename) },
  }),
});
