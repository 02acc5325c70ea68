// The libraries that few tools use: they are a script of their own, which is loaded when one is needed.

type Data = typeof import("../bun-data/index.ts");

export function data(): Data {
  return (globalThis as Record<symbol, any>)[Symbol.for("haft.package")]("bun-data");
}
