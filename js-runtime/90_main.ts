// The door between Rust and this runtime: the functions that Rust calls, and the start.
//
// `globalThis.__haft` exists only until Rust has taken the functions, before any tool runs.

import "ext:haft/03_permissions.ts";
import { type Settings, settings } from "ext:haft/00_state.ts";
import { hideNodeBootstrap } from "ext:haft/06_loader.ts";
import { verifyCode } from "ext:haft/07_verify.ts";
import "ext:haft/08_warm.ts";
import { redirectConsole } from "ext:haft/13_logger.ts";
import { currentDescription, loadModule } from "ext:haft/30_load.ts";
import { cancel, checkArguments, invoke } from "ext:haft/31_call.ts";
import { sessionEvent } from "ext:haft/32_session.ts";
import { forgetPrepared, prepareCall, startPrepared } from "ext:haft/33_gated.ts";
import "ext:haft/34_warm.ts";
import { render } from "ext:haft/35_render.ts";
import { guardUncaught } from "ext:haft/40_guard.ts";
import { installRecorder, installTape } from "ext:haft/41_replay.ts";
import { explainFetch } from "ext:haft/42_fetch.ts";
import "ext:haft/43_children.ts";
import { startSpans } from "ext:haft/44_spans.ts";

function start(given: string): void {
  Object.assign(settings, JSON.parse(given) as Settings);
  guardUncaught();
  hideNodeBootstrap();
  redirectConsole();
  explainFetch();
  verifyCode((globalThis as any).Deno);
  if (settings.hasTape) installTape();
  else installRecorder();
  startSpans();
}

(globalThis as any).__haft = {
  start,
  load: loadModule,
  invoke,
  prepare: prepareCall,
  startPrepared,
  forget: forgetPrepared,
  check: checkArguments,
  describe: currentDescription,
  render,
  cancel,
  session: sessionEvent,
};
