#!/usr/bin/env node
// Starts the program of this platform's package. Where install scripts run, `install.cjs` replaces
// this file by the program itself.

const { spawn } = require("node:child_process");
const os = require("node:os");
const path = require("node:path");

const program = find();
if (program === undefined) process.exit(1);
const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });

// The program decides what a signal means. The terminal sends Ctrl-C to both processes.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"]) {
  process.on(signal, () => {
    if (signal === "SIGTERM" || signal === "SIGHUP") child.kill(signal);
  });
}
child.on("error", (error) => {
  console.error(`error: \`${program}\` cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.exit(128 + (os.constants.signals[signal] ?? 0));
});

function find() {
  const platform = `${process.platform}-${process.arch}`;
  const name = require("../platform.cjs")[platform];
  if (name === undefined) {
    console.error(`error: haft has no program for ${platform}`);
    console.error("hint: build it from its source with `cargo install haft`");
    return undefined;
  }
  try {
    const folder = path.dirname(require.resolve(`${name}/package.json`));
    return path.join(folder, "bin", process.platform === "win32" ? "haft.exe" : "haft");
  } catch {
    console.error(`error: the package \`${name}\` with the program is not installed`);
    console.error("hint: install haft again, without `--omit=optional`");
    return undefined;
  }
}
