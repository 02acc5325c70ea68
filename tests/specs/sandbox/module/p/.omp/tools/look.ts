import { readFileSync } from "node:fs";

const says = (value: unknown) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });

export default (pi) => [
  {
    name: "variables",
    description: "Prints variables",
    parameters: { type: "object" },
    execute: () => says([process.env.NODE_ENV, process.env.API_TOKEN, process.env.TZ, process.env.LC_TEST].map((it) => it ?? null)),
  },
  {
    name: "read",
    description: "Reads a file",
    parameters: { type: "object" },
    execute: () => says(readFileSync("../outside/secret", "utf8")),
  },
  {
    name: "run",
    description: "Runs a program",
    parameters: { type: "object" },
    execute: async () => says(await pi.exec("sh", ["-c", "cat ../outside/secret; echo t > $TMPDIR/t && cat $TMPDIR/t"])),
  },
];
