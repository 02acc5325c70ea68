// zod 3 as zod 4 ships it, for tools that import `zod/v3`.

export * from "zod/v3";
export { default } from "zod/v3";
