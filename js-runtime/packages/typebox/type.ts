// The builders that pi and omp add to TypeBox's `Type`.
//
// They make ordinary TypeBox schemas, so `Static`, `Value` and the compiler know what to do with
// them, and JSON Schema readers see nothing unusual.

import { Type as Original, type TSchema, type TUnsafe } from "@sinclair/typebox";

interface EnumOptions<T> {
  description?: string;
  default?: T;
}

/**
 * A string out of a list, as `{ type: "string", enum: […] }`. Some model providers refuse the
 * `anyOf` of `const`s that `Type.Union` of literals makes.
 */
export function StringEnum<const T extends readonly string[]>(
  values: T,
  options?: EnumOptions<T[number]>,
): TUnsafe<T[number]> {
  const { description, default: fallback } = options ?? {};
  return Original.Unsafe<T[number]>({
    type: "string",
    enum: [...values],
    ...(description ? { description } : {}),
    ...(fallback !== undefined ? { default: fallback } : {}),
  });
}

/** The schema or null. */
function Nullable<T extends TSchema>(schema: T, options?: object) {
  return Original.Union([schema, Original.Null()], options);
}

/** TypeBox's builders and ours. */
export const Type = { ...Original, Nullable, StringEnum };

// Other packages of ours import it from TypeBox by name, as tools do.
declare module "@sinclair/typebox" {
  export const StringEnum: typeof import("./type.ts").StringEnum;
}
