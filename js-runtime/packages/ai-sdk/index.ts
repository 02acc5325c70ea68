// `ai`: the functions of the AI SDK that make tools (dialects 1.4).

import { unavailable } from "../unavailable.ts";

const SCHEMA = Symbol.for("vercel.ai.schema");

/** Returns the definition; it is there so that editors infer the types of the arguments. */
export function tool<T>(definition: T): T {
  return definition;
}

export function dynamicTool<T extends object>(definition: T): T & { type: "dynamic" } {
  return { ...definition, type: "dynamic" };
}

/** Makes a schema of a JSON Schema. */
export function jsonSchema(schema: unknown, options: { validate?: unknown } = {}) {
  return {
    [SCHEMA]: true,
    validate: options.validate,
    get jsonSchema() {
      return typeof schema === "function" ? schema() : schema;
    },
  };
}

/** Returns the schema of zod itself: haft reads it as it is. */
export function zodSchema<T>(schema: T): T {
  return schema;
}

export function asSchema<T>(schema: T): T {
  return schema;
}

const noModel = (name: string) =>
  unavailable(
    "ai",
    name,
    "haft calls no models; `haft install TOOL` installs `ai` beside the tool",
  );

export const generateText = noModel("generateText");
export const streamText = noModel("streamText");
export const generateObject = noModel("generateObject");
export const streamObject = noModel("streamObject");
export const embed = noModel("embed");
export const embedMany = noModel("embedMany");
export const stepCountIs = noModel("stepCountIs");
