// All that authors import from `@haft/tool-types`.

export type * from "./haft.js";
export type * from "./tool-test.js";
