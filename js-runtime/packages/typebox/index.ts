// TypeBox 0.34, the one that tools know as `@sinclair/typebox`, and `pi.typebox`.
//
// `Type` has a few builders more than the original, those that pi and omp add; the rest is real.
// The subpaths, which few tools use and which are four times as large, are in `typebox-tools`.

import { FormatRegistry, TypeRegistry } from "@sinclair/typebox";
import { TypeSystemPolicy } from "@sinclair/typebox/system";
import * as type from "@sinclair/typebox/type";

import { StringEnum, Type } from "./type.ts";

export * from "@sinclair/typebox";
export { StringEnum, Type };
export default { Type };

export const __parts = {
  type: () => type,
  formats: () => FormatRegistry,
  types: () => TypeRegistry,
  policy: () => ({ TypeSystemPolicy }),
};
