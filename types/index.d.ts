// All that authors import from `@haft/tool-types`.

export type * from "./haft.d.ts";
export type * from "./tool-test.d.ts";
