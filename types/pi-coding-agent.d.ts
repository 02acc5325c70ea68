// `@oh-my-pi/pi-coding-agent` as a tool sees it: the types of `haft.d.ts` and the values that exist.

export * from "../js-runtime/packages/pi-coding-agent/index.ts";
export * from "./haft.d.ts";
