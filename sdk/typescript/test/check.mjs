// `npm run check`: packs the package, installs it into an empty project, and checks its files, its manifest, both ways
// to load it, and its types, alone and together with the frameworks and with declared tools. With `--agents`, the
// types of the coding agents of test/agents, too. The examples of the guide must compile.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
const PACKAGE = dirname(HERE);
const ROOT = dirname(dirname(PACKAGE));
const FRAMEWORKS = join(HERE, "frameworks/node_modules");
const AGENTS = join(HERE, "agents/node_modules");
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");

/** The settings of the projects that may use the package, and the programs that are compiled with them. */
const KINDS_OF_PROJECTS = {
  "ES modules of Node": {
    options: { module: "node16", moduleResolution: "node16" },
    programs: { "tools.ts": "tools.mts", "frameworks.ts": "frameworks.mts" },
  },
  "a bundler": {
    options: { module: "esnext", moduleResolution: "bundler" },
    programs: { "tools.ts": "tools.ts", "frameworks.ts": "frameworks.ts" },
  },
  // The declarations of frameworks have errors of their own, so all declarations are checked here only.
  "CommonJS modules of Node": {
    options: { module: "node16", moduleResolution: "node16", skipLibCheck: false },
    programs: { "tools.ts": "tools.cts" },
  },
};

if (process.argv.includes("--agents")) {
  KINDS_OF_PROJECTS["a bundler"].programs["agents.ts"] = "agents.ts";
}

const project = fs.mkdtempSync(join(tmpdir(), "haft-package-"));
try {
  const installed = pack();
  checkFiles(installed);
  await checkManifest(installed);
  checkLoading();
  linkPackages();
  checkTypes();
} finally {
  fs.rmSync(project, { recursive: true, force: true });
}

/** Runs a program in the project and returns its output. Its failure ends the check. */
function run(program, args, options = {}) {
  const done = spawnSync(program, args, { cwd: project, encoding: "utf8", ...options });
  if (done.status === 0) return done.stdout;
  console.error(`error: \`${basename(program)} ${args.join(" ")}\` failed`);
  console.error(done.error?.message ?? `${done.stdout}${done.stderr}`);
  process.exit(1);
}

/** Puts what would be published into the `node_modules` of the project. */
function pack() {
  const args = ["pack", "--ignore-scripts", "--silent", "--pack-destination", project];
  const archive = run("npm", args, { cwd: PACKAGE }).trim().split("\n").at(-1);
  const installed = join(project, "node_modules/haft");
  fs.mkdirSync(installed, { recursive: true });
  run("tar", ["-xzf", archive, "-C", installed, "--strip-components=1"]);
  return installed;
}

function checkFiles(installed) {
  const all = fs.readdirSync(installed, { recursive: true, withFileTypes: true });
  const found = all
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1));
  const sources = fs.readdirSync(join(PACKAGE, "src"), { recursive: true });
  const modules = sources.filter((path) => path.endsWith(".ts")).map((path) => path.slice(0, -3));
  const built = modules.flatMap((path) => [`dist/${path}.js`, `dist/${path}.d.ts`]);
  const others = [
    "package.json",
    "README.md",
    "bin/haft.cjs",
    "dist/index.mjs",
    "dist/index.d.mts",
  ];
  assert.deepEqual(found.sort(), [...built, ...others].sort(), "the published files");
}

async function checkManifest(installed) {
  const from = join(FRAMEWORKS, "publint/src");
  const { publint } = await import(join(from, "index-node.js"));
  const { formatMessage } = await import(join(from, "utils.js"));
  const { messages, pkg } = await publint({ pkgDir: installed, strict: true, pack: false });
  assert.deepEqual(
    messages.map((message) => formatMessage(message, pkg, { color: false })),
    [],
    "package.json",
  );
}

/** An ES module and a CommonJS module of one program get the same values. */
function checkLoading() {
  const program = `
    import { createRequire } from "node:module";
    import * as imported from "haft";
    const required = createRequire(import.meta.url)("haft");
    const names = Object.keys(imported).sort();
    if (names.join() !== Object.keys(required).sort().join()) throw new Error(names.join());
    for (const name of names) if (imported[name] !== required[name]) throw new Error(name);
    console.log(names.join(" "));`;
  fs.writeFileSync(join(project, "load.mjs"), program);
  const names = run(process.execPath, ["load.mjs"]).trim();
  assert.equal(names, "Haft HaftError ToolError defineTool findBinary haft image");
}

/** Makes the packages that the programs import visible in the project. */
function linkPackages() {
  const link = (from, name) => {
    const path = join(project, "node_modules", name);
    fs.mkdirSync(dirname(path), { recursive: true });
    if (!fs.existsSync(path)) fs.symlinkSync(join(from, name), path);
  };
  for (const folder of [FRAMEWORKS, AGENTS]) {
    if (!fs.existsSync(folder)) continue;
    const { dependencies } = JSON.parse(fs.readFileSync(join(dirname(folder), "package.json")));
    for (const name of Object.keys(dependencies)) link(folder, name);
  }
  link(join(ROOT, "node_modules"), "@types/node");
}

function checkTypes() {
  // A home without tools, so that only those of the tests are declared.
  const env = { ...process.env, HOME: project, XDG_CONFIG_HOME: project };
  const types = ["--tool", join(HERE, "tools.ts"), "types"];
  const tools = run(process.env.HAFT_BINARY ?? "haft", types, { env });
  for (const [kind, { options, programs }] of Object.entries(KINDS_OF_PROJECTS)) {
    const folder = join(project, kind.replaceAll(" ", "-"));
    fs.mkdirSync(folder);
    for (const [source, name] of Object.entries(programs)) {
      fs.copyFileSync(join(HERE, "types", source), join(folder, name));
      fs.writeFileSync(join(folder, name.replace(/^\w+/, "declared")), tools);
    }
    if (kind === "a bundler") writeExamples(folder);
    compile(folder, options);
  }
}

/** Writes the examples of the guide as modules. What they use without defining it is global. */
function writeExamples(folder) {
  const globals = `declare const haft: typeof import("haft").haft;
    declare const catalog: { search(query: string, options: object): Promise<string[]> };
    declare const search: import("haft").ToolDefinition;`;
  fs.writeFileSync(join(folder, "globals.d.ts"), globals);
  const guide = fs.readFileSync(join(ROOT, "docs/typescript.md"), "utf8");
  const examples = [...guide.matchAll(/```ts\n(.*?)```/gs)];
  assert.equal(examples.length, 3);
  for (const [index, [, example]] of examples.entries()) {
    fs.writeFileSync(join(folder, `example${index + 1}.ts`), `${example}\nexport {};\n`);
  }
}

function compile(folder, options) {
  const compilerOptions = {
    target: "es2022",
    lib: ["es2023", "esnext.disposable", "dom", "dom.iterable", "dom.asynciterable"],
    types: ["node"],
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: true,
    ...options,
  };
  fs.writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions }));
  run(process.execPath, [TSC, "-p", folder]);
}
