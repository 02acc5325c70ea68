// Puts the platform's program into the place of the launcher, with its system tools beside it. If
// that fails, the launcher stays, which starts the program through Node.js: an installation never
// fails because of this script.

const fs = require("node:fs");
const path = require("node:path");

try {
  install();
} catch (error) {
  if (process.env.HAFT_INSTALL_VERBOSE) console.error(`haft: the launcher stays: ${error.message}`);
}

function install() {
  // Windows starts the launcher by a script that npm writes, which would give a program to Node.js.
  if (process.platform === "win32") return;
  const name = `@haft/${process.platform}-${process.arch}`;
  const from = path.dirname(require.resolve(`${name}/package.json`));
  // First the tools: haft looks for them beside itself.
  copy(path.join(from, "libexec"), path.join(__dirname, "libexec"));
  link(path.join(from, "bin", "haft"), path.join(__dirname, "bin", "haft"));
}

function copy(from, to) {
  fs.mkdirSync(to, { recursive: true });
  for (const entry of fs.readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [path.join(from, entry.name), path.join(to, entry.name)];
    if (entry.isDirectory()) copy(source, target);
    else link(source, target);
  }
}

// A hard link takes no room. It is made under another name and renamed, so that the target is always
// a whole file, and never the file that a package manager shares between projects.
function link(from, to) {
  const beside = `${to}.${process.pid}`;
  try {
    fs.linkSync(from, beside);
  } catch {
    fs.copyFileSync(from, beside);
    fs.chmodSync(beside, 0o755);
  }
  fs.renameSync(beside, to);
}
