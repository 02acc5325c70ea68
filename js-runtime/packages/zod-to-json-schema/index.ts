// Turns schemas of zod 3, which tools may bring with them, into JSON Schema.

export * from "zod-to-json-schema";
export { default } from "zod-to-json-schema";
