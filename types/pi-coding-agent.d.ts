// `@oh-my-pi/pi-coding-agent` as a tool sees it: the types of `haft.d.ts` and the values that exist.

import type { CustomTool, Logger, ToolSchema } from "./haft.d.ts";

export * from "../js-runtime/packages/pi-coding-agent/index.ts";
export * from "./haft.d.ts";

/** Returns the tool; it is there so that `params` of `execute` gets the type of `parameters`. */
export declare function defineTool<const TParams extends ToolSchema, TDetails = any>(
  tool: CustomTool<TParams, TDetails>,
): CustomTool<TParams, TDetails>;

/** `pi.logger`. */
export declare const logger: Logger;

/** `ctx.settings`: the settings of the host, which can be read. */
export declare const settings: {
  get(path: string): any;
  getGroup(name: string): Record<string, unknown>;
  has(path: string): boolean;
  getCwd(): string;
};
