// Makes `dist/`, what the package `@haft/tool-types` holds: `npm pack` and `npm publish` call it.
//
// The types of what haft provides are those of its own sources and of the packages that are bundled with
// them, so they cannot differ from what runs.

import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The modules that tools of other agents import, with the files of their types. */
const DIALECTS = {
  "@opencode-ai/plugin": "opencode-plugin.d.ts",
  "@anthropic-ai/claude-agent-sdk": "claude-agent-sdk.d.ts",
  ai: "ai.d.ts",
  "@github/copilot-sdk/extension": "copilot-sdk.d.ts",
  "openclaw/plugin-sdk/tool-plugin": "openclaw-tool-plugin.d.ts",
};

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, "dist");
const compiler = createRequire(import.meta.url).resolve("typescript/package.json");

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
const tsc = join(dirname(compiler), "bin", "tsc");
const ran = spawnSync(process.execPath, [tsc, "-p", join(here, "tsconfig.dist.json")], {
  stdio: "inherit",
});
if (ran.status !== 0) process.exit(ran.status ?? 1);

// Of the package whose parts haft has, only the declarations: an author need not install it.
const published = dirname(createRequire(import.meta.url).resolve("@earendil-works/pi-tui"));
const { name, version, license } = JSON.parse(
  readFileSync(join(published, "../package.json"), "utf8"),
);
const copies = join(dist, "pi-tui/published");
for (const path of declarations(published)) {
  // The index also has what haft does not, and types of another package.
  if (path === join(published, "index.d.ts")) continue;
  const copy = join(copies, path.slice(published.length + 1));
  mkdirSync(dirname(copy), { recursive: true });
  copyFileSync(path, copy);
}
writeFileSync(
  join(copies, "README.md"),
  `Declarations of ${name} ${version} (${license}), with other paths.\n`,
);

for (const path of declarations(dist)) {
  writeFileSync(path, forPackage(readFileSync(path, "utf8"), path));
}
for (const name of ["haft.d.ts", "tool-test.d.ts"])
  copyFileSync(join(here, name), join(dist, name));
mkdirSync(join(dist, "dialects"));
for (const file of Object.values(DIALECTS)) {
  copyFileSync(join(here, "dialects", file), join(dist, "dialects", file));
}
const index = readFileSync(join(here, "index.d.ts"), "utf8").replaceAll(".d.ts", ".js");
writeFileSync(join(dist, "index.d.ts"), index);
const values = readFileSync(join(here, "pi-coding-agent.d.ts"), "utf8")
  .replace("../js-runtime/packages/pi-coding-agent/index.ts", "./pi-coding-agent/index.js")
  .replaceAll("./haft.d.ts", "./haft.js");
writeFileSync(join(dist, "pi-coding-agent.d.ts"), values);
writeFileSync(join(dist, "tsconfig.json"), `${JSON.stringify(settings(), null, 2)}\n`);

// The package has no sources, and its neighbours are beside it.
function forPackage(text, path) {
  const up = "../".repeat(path.slice(dist.length + 1).split("/").length - 1) || "./";
  return text
    .replace(/(from |import\()"(\.\.?\/[^"]+)\.ts"/g, '$1"$2.js"')
    .replace(/"@oh-my-pi\/(pi-[a-z-]+)"/g, `"${up}$1/index.js"`)
    .replaceAll('"@earendil-works/pi-tui/dist/', `"${up}pi-tui/published/`)
    .replace(/\n\/\/# sourceMappingURL=.*/, "");
}

// What an author's `tsconfig.json` extends: `@oh-my-pi/pi-coding-agent` and its kind mean this package.
function settings() {
  const { compilerOptions } = JSON.parse(
    readFileSync(join(here, "tsconfig.tools.json"), "utf8").replace(/^\s*\/\/.*$/gm, ""),
  );
  const paths = {};
  for (const scope of ["@oh-my-pi", "@mariozechner", "@earendil-works"]) {
    paths[`${scope}/pi-coding-agent`] = ["./pi-coding-agent.d.ts"];
    for (const name of ["pi-agent-core", "pi-ai", "pi-tui"]) {
      paths[`${scope}/${name}`] = [`./${name}/index.d.ts`];
    }
  }
  for (const [name, file] of Object.entries(DIALECTS)) {
    // An installed package has more; it is three folders above.
    paths[name] = [`../../../${name}`, `./dialects/${file}`];
  }
  const { types, ...rest } = compilerOptions;
  return { compilerOptions: { ...rest, paths } };
}

function declarations(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".d.ts"))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}
