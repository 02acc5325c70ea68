#!/usr/bin/env node
// Starts haft's program from the package of this platform, with the arguments and streams of this process.

const { spawn } = require("node:child_process");
const { findBinary } = require("../dist/binary.js");

const args = process.argv.slice(2);

/** Standard streams, and the descriptor of `--rpc-fd`. */
function streams() {
  const at = args.findIndex((arg) => arg === "--rpc-fd" || arg.startsWith("--rpc-fd="));
  const text = at < 0 ? "" : (args[at].split("=")[1] ?? args[at + 1]);
  const last = /^\d{1,3}$/.test(text) ? Math.max(2, Number(text)) : 2;
  const all = Array(last + 1).fill("ignore");
  for (const fd of [0, 1, 2, last]) all[fd] = "inherit";
  return all;
}

let binary;
try {
  binary = findBinary();
} catch (error) {
  console.error(`error: ${error.message}`);
  process.exit(1);
}
// A terminal sends its signals to both processes; others send them to this one only. The handlers are there before the
// program is: a signal in between would end this process alone.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  });
}
const child = spawn(binary, args, { stdio: streams() });
child.on("error", (error) => {
  console.error(`error: cannot start ${binary}: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code ?? 1);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
