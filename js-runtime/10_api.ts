// `pi`, the object that factories receive (spec omp 5).
//
// One object serves every factory of an isolate, as in the original. The packages on it are
// getters: a tool that does not touch TypeBox does not pay for it.

import { settings } from "ext:haft/00_state.ts";
import { packageByName, zod } from "ext:haft/05_packages.ts";
import { exec } from "ext:haft/11_exec.ts";
import { hasUI, ui } from "ext:haft/12_ui.ts";
import { logger } from "ext:haft/13_logger.ts";
import { events } from "ext:haft/14_events.ts";
import { pushPendingAction } from "ext:haft/16_pending.ts";
import { tolerantZod } from "ext:haft/20_wire_schema.ts";

let api: Record<string, unknown> | undefined;
let zodForTools: unknown;
let arktypeForTools: unknown;

/** The API object of this isolate, made when the first module loads. It inherits from `inherited`. */
export function toolApi(inherited: object): Record<string, unknown> {
  api ??= makeApi(inherited);
  return api;
}

/** `pi.arktype({…})` is arktype's `type`; the package's other exports are its members. */
function callableArktype(namespace: Record<string, any>): unknown {
  return new Proxy(namespace.type, {
    get: (type, key) => (typeof key === "string" && key in namespace ? namespace[key] : type[key]),
  });
}

// The order of the keys is the original's: some tools enumerate them.
function makeApi(inherited: object): Record<string, unknown> {
  return {
    __proto__: inherited,
    cwd: settings.cwd,
    exec,
    ui,
    get hasUI() {
      return hasUI();
    },
    // Some authors switch it on for tests; what counts is whether a user can be asked.
    set hasUI(_wanted: boolean) {},
    logger,
    get typebox() {
      return packageByName("typebox");
    },
    get arktype() {
      arktypeForTools ??= callableArktype(packageByName("arktype"));
      return arktypeForTools;
    },
    get zod() {
      zodForTools ??= tolerantZod(zod());
      return zodForTools;
    },
    get pi() {
      return packageByName("pi-coding-agent");
    },
    pushPendingAction,
    events,
    // Some authors destructure `{ Type }` from the factory's argument itself (spec omp-usage 10.9).
    get Type() {
      return packageByName("typebox").Type;
    },
    get env() {
      return (globalThis as any).process.env;
    },
    sendMessage() {
      logger.warn("pi.sendMessage is not available to tools and does nothing");
    },
  };
}
