// The part of TypeBox that tools need to describe their arguments, for checks without the package.

export interface TSchema {
  readonly static: unknown;
  readonly params: unknown[];
  [key: string]: unknown;
}

interface Of<Output> extends TSchema {
  readonly static: Output;
}

interface Optional<Output> extends Of<Output> {
  readonly isOptional: true;
}

export type Static<Schema extends TSchema> = Schema["static"];

type Options = Record<string, unknown>;
type Members = Readonly<Record<string, TSchema>>;
type ObjectOf<M extends Members> = {
  [Key in keyof M as M[Key] extends Optional<any> ? never : Key]: M[Key]["static"];
} & { [Key in keyof M as M[Key] extends Optional<any> ? Key : never]?: M[Key]["static"] };

export declare const Type: {
  String(options?: Options): Of<string>;
  Number(options?: Options): Of<number>;
  Integer(options?: Options): Of<number>;
  Boolean(options?: Options): Of<boolean>;
  Null(options?: Options): Of<null>;
  Any(options?: Options): Of<any>;
  Unknown(options?: Options): Of<unknown>;
  Literal<const Value extends string | number | boolean>(
    value: Value,
    options?: Options,
  ): Of<Value>;
  Array<Schema extends TSchema>(item: Schema, options?: Options): Of<Schema["static"][]>;
  Union<const Schemas extends readonly TSchema[]>(
    of: Schemas,
    options?: Options,
  ): Of<Schemas[number]["static"]>;
  Record<Schema extends TSchema>(
    key: TSchema,
    value: Schema,
    options?: Options,
  ): Of<Record<string, Schema["static"]>>;
  Optional<Schema extends TSchema>(schema: Schema): Optional<Schema["static"]>;
  Object<const M extends Members>(members: M, options?: Options): Of<ObjectOf<M>>;
};
