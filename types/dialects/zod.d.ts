// The part of zod 4 that tools need to describe their arguments, for checks without the package.
//
// Where zod is installed its own types are used: see the `paths` of `tsconfig.json`.

/** A schema whose values have the type `Output`. */
export interface ZodType<Output = any, Input = Output> {
  readonly _zod: { readonly output: Output; readonly input: Input };
  readonly _output: Output;
  describe(text: string): this;
  meta(facts: Record<string, unknown>): this;
  optional(): ZodOptional<Output, Input>;
  nullable(): ZodType<Output | null, Input | null>;
  nullish(): ZodOptional<Output | null, Input | null>;
  default(value: Output): ZodOptional<Output, Input, Output>;
  array(): ZodArray<Output>;
  or<Other>(other: ZodType<Other>): ZodType<Output | Other>;
  refine(check: (value: Output) => unknown, message?: string | object): this;
  transform<Next>(change: (value: Output) => Next): ZodType<Next, Input>;
  parse(value: unknown): Output;
  safeParse(value: unknown): { success: true; data: Output } | { success: false; error: Error };
}

/** A member that may be missing; `Given` is what `execute` sees then. */
export interface ZodOptional<Output, Input = Output, Given = Output | undefined>
  extends ZodType<Given, Input | undefined> {
  readonly isOptional: true;
  readonly given: Given;
}

export interface ZodString extends ZodType<string> {
  min(length: number, message?: string): this;
  max(length: number, message?: string): this;
  length(length: number, message?: string): this;
  regex(pattern: RegExp, message?: string): this;
  startsWith(text: string): this;
  endsWith(text: string): this;
  includes(text: string): this;
  trim(): this;
  toLowerCase(): this;
  toUpperCase(): this;
  email(): this;
  url(): this;
  uuid(): this;
  datetime(): this;
  nonempty(): this;
}

export interface ZodNumber extends ZodType<number> {
  min(limit: number, message?: string): this;
  max(limit: number, message?: string): this;
  gt(limit: number): this;
  gte(limit: number): this;
  lt(limit: number): this;
  lte(limit: number): this;
  int(): this;
  positive(): this;
  nonnegative(): this;
  negative(): this;
  multipleOf(step: number): this;
  finite(): this;
}

export interface ZodArray<Item> extends ZodType<Item[]> {
  min(length: number): this;
  max(length: number): this;
  length(length: number): this;
  nonempty(): this;
}

/** Names and schemas of members. */
export type ZodRawShape = Readonly<Record<string, ZodType<any, any>>>;

type OptionalKeys<Shape extends ZodRawShape> = {
  [Key in keyof Shape]: undefined extends Shape[Key]["_output"] ? Key : never;
}[keyof Shape];

/** The type of an object with this shape. */
export type ShapeOutput<Shape extends ZodRawShape> = {
  [Key in Exclude<keyof Shape, OptionalKeys<Shape>>]: Shape[Key]["_output"];
} & { [Key in OptionalKeys<Shape>]?: Shape[Key]["_output"] };

export interface ZodObject<Shape extends ZodRawShape> extends ZodType<ShapeOutput<Shape>> {
  readonly shape: Shape;
  strict(): this;
  passthrough(): this;
  partial(): ZodObject<{ [Key in keyof Shape]: ZodOptional<Shape[Key]["_output"]> }>;
  extend<More extends ZodRawShape>(more: More): ZodObject<Omit<Shape, keyof More> & More>;
  pick<Key extends keyof Shape>(keys: Record<Key, true>): ZodObject<Pick<Shape, Key>>;
  omit<Key extends keyof Shape>(keys: Record<Key, true>): ZodObject<Omit<Shape, Key>>;
}

export type infer<Schema extends ZodType> = Schema["_output"];
export type output<Schema extends ZodType> = Schema["_output"];
export type ZodTypeAny = ZodType;

export declare function string(options?: unknown): ZodString;
export declare function number(options?: unknown): ZodNumber;
export declare function int(): ZodNumber;
export declare function boolean(options?: unknown): ZodType<boolean>;
export declare function date(): ZodType<Date>;
export declare function any(): ZodType<any>;
export declare function unknown(): ZodType<unknown>;
export declare function url(): ZodString;
export declare function email(): ZodString;
export declare function literal<const Value extends string | number | boolean | null>(
  value: Value,
): ZodType<Value>;
declare function enumOf<const Values extends readonly string[]>(
  values: Values,
): ZodType<Values[number]>;

export { enumOf as enum };
export declare function array<Output>(item: ZodType<Output, any>): ZodArray<Output>;
export declare function object<const Shape extends ZodRawShape>(shape: Shape): ZodObject<Shape>;
export declare function strictObject<const Shape extends ZodRawShape>(
  shape: Shape,
): ZodObject<Shape>;
export declare function record<Output>(
  keys: ZodType<string, any>,
  values: ZodType<Output, any>,
): ZodType<Record<string, Output>>;
export declare function union<const Options extends readonly ZodType<any, any>[]>(
  options: Options,
): ZodType<Options[number]["_output"]>;
export declare function discriminatedUnion<const Options extends readonly ZodType<any, any>[]>(
  key: string,
  options: Options,
): ZodType<Options[number]["_output"]>;

export declare namespace coerce {
  function string(): ZodString;
  function number(): ZodNumber;
  function boolean(): ZodType<boolean>;
}

export * as z from "zod";
export * as default from "zod";
