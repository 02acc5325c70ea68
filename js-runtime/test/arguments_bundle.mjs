// Bundles files of the runtime for Node, so that tests import what V8 runs.
//
// `ext:haft/NN_name.ts` becomes the file beside this folder; `05_packages.ts`, which reads from the
// binary, becomes npm's packages of the same names.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { build } from "esbuild";

const RUNTIME = fileURLToPath(new URL("..", import.meta.url));

const PACKAGES = `
  import * as zodNamespace from "zod";
  import * as zodToJsonSchema from "zod-to-json-schema";
  const packages = { zod: zodNamespace, "zod-to-json-schema": zodToJsonSchema };
  export const zod = () => zodNamespace;
  export const packageByName = (name) => packages[name];
`;

const runtimeFiles = {
  name: "runtime-files",
  setup(builder) {
    builder.onResolve({ filter: /^ext:haft\// }, ({ path }) => {
      const name = path.slice("ext:haft/".length);
      if (name === "05_packages.ts") return { path: name, namespace: "packages" };
      return { path: join(RUNTIME, name) };
    });
    builder.onLoad({ filter: /.*/, namespace: "packages" }, () => ({
      contents: PACKAGES,
      resolveDir: RUNTIME,
    }));
  },
};

/** Imports `names`, files of the runtime, as one object with the exports of all. */
export async function importRuntime(...names) {
  const contents = names.map((name) => `export * from "ext:haft/${name}";`).join("\n");
  const bundled = await build({
    stdin: { contents, resolveDir: RUNTIME, loader: "ts" },
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    plugins: [runtimeFiles],
  });
  // Beside the sources, so that Node finds the packages that stay outside of the bundle.
  const folder = await mkdtemp(join(RUNTIME, "test", ".bundle-"));
  const file = join(folder, "runtime.mjs");
  try {
    await writeFile(file, bundled.outputFiles[0].text);
    return await import(pathToFileURL(file).href);
  } finally {
    await rm(folder, { recursive: true });
  }
}
