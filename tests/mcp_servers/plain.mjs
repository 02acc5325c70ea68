// A server that has everything and behaves, on standard input and output.
//
//   node plain.mjs [--name NAME] [--era old|both] [--page N] [--starts FILE]
//
// `--starts`, or the variable STARTS, names a file to which each start appends a line.

import { parseArgs } from "node:util";

import { connect, features, note } from "./features.mjs";
import { Server, serveStdio } from "./protocol.mjs";

const { values: flags } = parseArgs({
  options: {
    name: { type: "string", default: "plain" },
    era: { type: "string", default: "both" },
    page: { type: "string" },
    starts: { type: "string" },
  },
  strict: false,
});
note(flags.starts ?? process.env.STARTS, flags.name);
const pageSize = flags.page ? Number(flags.page) : undefined;
serveStdio(connect(new Server(features({ name: flags.name, modern: flags.era !== "old", pageSize }))));
