// The libraries that few tools use: they are a script of their own, which is loaded when one is needed.

import { shared } from "../builtin.ts";

type Data = typeof import("../bun-data/index.ts");

export function data(): Data {
  return shared("package")("bun-data");
}
