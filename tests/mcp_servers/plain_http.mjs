// The plain server over HTTP: streamable at `/mcp`, the older transport at `/sse`.
//
//   node plain_http.mjs [--name NAME] [--era old|both] [--page N] [--require "Header: value"]…
//
// It prints its URL as its first line. A request without a required header gets 401.

import { parseArgs } from "node:util";

import { connect, features } from "./features.mjs";
import { serveHttp } from "./http.mjs";
import { Server } from "./protocol.mjs";

const { values: flags } = parseArgs({
  options: {
    name: { type: "string", default: "plain" },
    era: { type: "string", default: "both" },
    page: { type: "string" },
    require: { type: "string", multiple: true, default: [] },
  },
});
const required = flags.require.map((line) => line.split(/: */, 2));
const refuse = ({ headers }) => {
  const missing = required.find(([name, value]) => headers[name.toLowerCase()] !== value);
  return missing && { status: 401, body: `the header ${missing[0]} is wrong` };
};
const pageSize = flags.page ? Number(flags.page) : undefined;
const server = connect(new Server(features({ name: flags.name, modern: flags.era !== "old", pageSize })));
console.log(await serveHttp(server, { refuse }));
// It ends with the program that started it.
process.stdin.on("end", () => process.exit(0)).resume();
