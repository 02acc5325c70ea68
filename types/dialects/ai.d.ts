// `ai`, as modules with tools need it.

type SchemaOutput<Schema> = Schema extends { readonly _zod: { readonly output: infer Output } }
  ? Output
  : Schema extends { readonly _type: infer Output }
    ? Output
    : any;

/** A schema of `jsonSchema()`. */
export interface JsonSchemaOf<Output> {
  readonly _type: Output;
  readonly jsonSchema: unknown;
}

export interface ToolExecutionOptions {
  toolCallId: string;
  messages: unknown[];
  abortSignal?: AbortSignal;
  context?: unknown;
}

export type ToolModelOutput =
  | { type: "text" | "error-text"; value: string }
  | { type: "json" | "error-json"; value: unknown }
  | {
      type: "content";
      value: (
        | { type: "text"; text: string }
        | { type: "media"; data: string; mediaType: string }
      )[];
    };

export interface Tool<Schema = any, Output = any> {
  title?: string;
  description?: string;
  inputSchema: Schema;
  outputSchema?: unknown;
  needsApproval?: boolean | ((input: SchemaOutput<Schema>) => boolean | Promise<boolean>);
  execute?(
    input: SchemaOutput<Schema>,
    options: ToolExecutionOptions,
  ): Output | Promise<Output> | AsyncIterable<Output>;
  toModelOutput?(options: {
    toolCallId: string;
    input: SchemaOutput<Schema>;
    output: Output;
  }): ToolModelOutput | Promise<ToolModelOutput>;
}

export declare function tool<const Schema, Output>(
  definition: Tool<Schema, Output>,
): Tool<Schema, Output>;
export declare function dynamicTool<const Schema, Output>(
  definition: Tool<Schema, Output>,
): Tool<Schema, Output> & { type: "dynamic" };
export declare function jsonSchema<Output = any>(schema: object): JsonSchemaOf<Output>;
export type ToolSet = Record<string, Tool>;
