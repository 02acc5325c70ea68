// The dialects of modules: whose interface a module is written for, and how it becomes tools.
//
// A dialect is one file and one row of `DIALECTS`. It returns tools in the contract of oh-my-pi (a
// name, a description, parameters and `execute`), so that arguments, updates, results, approval and
// rendering are the same for all of them. A module that fits several belongs to the first row.

import type { ArgumentOrder } from "ext:haft/18_order.ts";
import { joinedTools } from "ext:haft/27_copilot.ts";
import { exportedTools } from "ext:haft/27_exports.ts";
import { opencodePlugins, opencodeTools } from "ext:haft/27_opencode.ts";
import { factoryTools } from "ext:haft/27_pi.ts";

/** A module that was imported. */
export interface ImportedModule {
  /** The exports. Those of a CommonJS module are properties of `default`, too. */
  readonly namespace: Record<string, any>;
  /** The default export, if it is a function. */
  readonly factory: ((api: unknown) => unknown) | undefined;
  /** Path of its file. */
  readonly path: string;
}

/** Tool of a module. */
export interface OfferedTool {
  /** In the contract of oh-my-pi. Of any type: a value that is no tool is refused later. */
  readonly tool: any;
  /** The order of the arguments of `execute`, if the dialect fixes it. */
  readonly order?: ArgumentOrder;
  /** Changes the arguments before they are checked. */
  readonly prepare?: ((args: unknown) => unknown) | undefined;
}

/** Everything that a module offers. */
export interface Offered {
  readonly tools: readonly OfferedTool[];
  /** Numbers of the other things that the module registers, by kind, e.g. `hook`. */
  readonly unserved?: Readonly<Record<string, number>>;
}

type Dialect = (module: ImportedModule) => Offered | undefined | Promise<Offered | undefined>;

/** The dialects. Each returns nothing for a module that is not of its kind. */
const DIALECTS: readonly Dialect[] = [
  joinedTools,
  opencodePlugins,
  factoryTools,
  opencodeTools,
  exportedTools,
];

/** Returns the tools of a module in the first dialect that it fits, or nothing if it fits none. */
export async function offeredBy(module: ImportedModule): Promise<Offered | undefined> {
  for (const dialect of DIALECTS) {
    const offered = await dialect(module);
    if (offered !== undefined) return offered;
  }
  return undefined;
}
