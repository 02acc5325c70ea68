// The subpaths of TypeBox 0.34: checking, compiling, parsing.
//
// Registries and policy are those of the script `typebox`, so a format that a tool sets is known
// here. A subpath is evaluated when it is first asked for.

export const __parts = {
  compiler: () => require("@sinclair/typebox/compiler"),
  errors: () => require("@sinclair/typebox/errors"),
  parser: () => require("@sinclair/typebox/parser"),
  syntax: () => require("@sinclair/typebox/syntax"),
  system: () => require("@sinclair/typebox/system"),
  value: () => require("@sinclair/typebox/value"),
};
