// Which packages tools may import, and under which names.
//
// One entry is one script, made from `<name>/index.ts`; the exports of that module are what a tool
// sees. The other fields:
//   lazy       exports stay getters, since they hand out members of other packages and must not
//              load those before someone asks
//   keepNames  its classes are recognised by their names, some of which esbuild would change
//   partOf     the script that holds the code of this subpath, under the name `part`
//   define     what a bundled library sees of the process: there is none while a script is evaluated, and
//              a tool may not have the permission for its environment later
//   replace    modules of a bundled package, and the modules beside `index.ts` that take their place
//   stateOf    the script with the registries and settings of this one; `state` says which modules
//              of the package hold them, `names` what those export where `export *` passes it on

/** The scopes under which the pi packages were published over time. */
const SCOPES = ["@oh-my-pi", "@mariozechner", "@earendil-works"];

const pi = (name) => SCOPES.map((scope) => `${scope}/${name}`);

/** The subpaths of a package whose code is in the script `owner`, e.g. `typebox/value`. */
const parts = (owner, module, paths) =>
  paths.map((path) => ({
    name: `${owner}-${path}`,
    specifiers: [`${module}/${path}`],
    partOf: owner,
    part: path,
  }));

export const PACKAGES = [
  { name: "zod-locales", specifiers: ["zod/locales", "zod/v4/locales"] },
  { name: "zod", specifiers: ["zod", "zod/v4"] },
  ...parts("zod", "zod/v4", ["core"]),
  { name: "zod-mini", specifiers: ["zod/mini", "zod/v4-mini", "zod/v4/mini"] },
  { name: "zod-v3", specifiers: ["zod/v3"], keepNames: true },
  { name: "zod-to-json-schema", specifiers: ["zod-to-json-schema"] },
  { name: "typebox", specifiers: ["@sinclair/typebox"] },
  {
    name: "typebox-tools",
    specifiers: [],
    stateOf: "typebox",
    state: {
      "@sinclair/typebox/build/esm/type/registry/format.mjs": { part: "formats" },
      "@sinclair/typebox/build/esm/type/registry/type.mjs": { part: "types" },
      "@sinclair/typebox/build/esm/system/policy.mjs": {
        part: "policy",
        names: ["TypeSystemPolicy"],
      },
    },
  },
  ...parts("typebox", "@sinclair/typebox", ["type"]),
  ...parts("typebox-tools", "@sinclair/typebox", [
    "compiler",
    "errors",
    "parser",
    "syntax",
    "system",
    "value",
  ]),
  { name: "typebox-1", specifiers: ["typebox"] },
  {
    name: "typebox-1-tools",
    specifiers: [],
    stateOf: "typebox-1",
    state: { "typebox/build/system/settings/settings.mjs": { part: "settings" } },
  },
  ...parts("typebox-1", "typebox", ["type"]),
  ...parts("typebox-1-tools", "typebox", [
    "compile",
    "error",
    "format",
    "guard",
    "schema",
    "system",
    "value",
  ]),
  { name: "arktype", specifiers: ["arktype"] },
  {
    name: "pi-tui",
    specifiers: pi("pi-tui"),
    define: { "process.env.WT_SESSION": "undefined" },
    replace: {
      "@earendil-works/pi-tui/dist/terminal-image.js": "terminal.ts",
      "@earendil-works/pi-tui/dist/utils.js": "measures.ts",
    },
  },
  {
    name: "pi-ai",
    specifiers: [...pi("pi-ai"), ...pi("pi-ai/compat"), ...pi("pi-ai/oauth")],
    lazy: true,
  },
  { name: "pi-agent-core", specifiers: pi("pi-agent-core"), lazy: true },
  { name: "pi-coding-agent", specifiers: pi("pi-coding-agent"), lazy: true, keepNames: true },
  { name: "opencode-plugin", specifiers: ["@opencode-ai/plugin", "@opencode-ai/plugin/tool"] },
  {
    name: "claude-agent-sdk",
    specifiers: ["@anthropic-ai/claude-agent-sdk", "@anthropic-ai/claude-code"],
  },
  { name: "ai-sdk", specifiers: ["ai"] },
  {
    name: "copilot-sdk",
    specifiers: ["@github/copilot-sdk", "@github/copilot-sdk/extension"],
  },
  {
    name: "openclaw",
    specifiers: [
      "openclaw/plugin-sdk",
      "openclaw/plugin-sdk/core",
      "openclaw/plugin-sdk/plugin-entry",
      "openclaw/plugin-sdk/tool-plugin",
    ],
  },
  { name: "bun-data", specifiers: [], define: { process: "undefined" } },
  { name: "bun-sqlite", specifiers: ["bun:sqlite"], keepNames: true },
  { name: "bun", specifiers: ["bun"], lazy: true, keepNames: true },
];
