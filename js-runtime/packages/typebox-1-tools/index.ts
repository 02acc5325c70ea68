// The subpaths of TypeBox 1, with the settings of the script `typebox-1`.

export const __parts = {
  compile: () => require("typebox/compile"),
  error: () => require("typebox/error"),
  format: () => require("typebox/format"),
  guard: () => require("typebox/guard"),
  schema: () => require("typebox/schema"),
  system: () => require("typebox/system"),
  value: () => require("typebox/value"),
};
