export * from "./haft.js";
export type * from "./tool-test.js";
