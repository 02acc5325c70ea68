// The dialects of modules: whose interface a module is written for, and how it becomes tools.
//
// A dialect is one file, one row of `READERS` and one of `27_dialect_table.ts`. It returns tools in
// the contract of oh-my-pi (a name, a description, parameters and `execute`), so that arguments,
// updates, results, approval and rendering are the same for all of them. A module that fits several
// belongs to the first row.

import type { ArgumentOrder } from "ext:haft/18_order.ts";
import { joinedTools } from "ext:haft/27_copilot.ts";
import type { DialectId } from "ext:haft/27_dialect_table.ts";
import { exportedTools } from "ext:haft/27_exports.ts";
import { enteredTools } from "ext:haft/27_openclaw.ts";
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
  /** What follows in its address, with the `?`; empty if nothing does. */
  readonly query: string;
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
  readonly dialect: DialectId;
  readonly tools: readonly OfferedTool[];
  /** Numbers of the other things that the module registers, by kind, e.g. `hook`. */
  readonly unserved?: Readonly<Record<string, number>>;
}

type Reader = (module: ImportedModule) => Offered | undefined | Promise<Offered | undefined>;

/**
 * Functions of the dialects, in the order of `27_dialect_table.ts`. Each returns nothing for a module
 * that is not of its kind.
 */
const READERS: readonly Reader[] = [
  joinedTools,
  opencodePlugins,
  factoryTools,
  enteredTools,
  opencodeTools,
  exportedTools,
];

/** Returns the tools of a module in the first dialect that it fits, or nothing if it fits none. */
export async function offeredBy(module: ImportedModule): Promise<Offered | undefined> {
  for (const read of READERS) {
    const offered = await read(module);
    if (offered !== undefined) return offered;
  }
  return undefined;
}
