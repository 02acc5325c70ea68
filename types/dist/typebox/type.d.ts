import { type TSchema, type TUnsafe } from "@sinclair/typebox";
interface EnumOptions<T> {
    description?: string;
    default?: T;
}
/**
 * A string out of a list, as `{ type: "string", enum: […] }`. Some model providers refuse the
 * `anyOf` of `const`s that `Type.Union` of literals makes.
 */
export declare function StringEnum<const T extends readonly string[]>(values: T, options?: EnumOptions<T[number]>): TUnsafe<T[number]>;
/** The schema or null. */
declare function Nullable<T extends TSchema>(schema: T, options?: object): import("@sinclair/typebox").TUnion<[T, import("@sinclair/typebox").TNull]>;
/** TypeBox's builders and ours. */
export declare const Type: {
    Nullable: typeof Nullable;
    StringEnum: typeof StringEnum;
};
declare module "@sinclair/typebox" {
    const StringEnum: typeof import("./type.js").StringEnum;
}
export {};
