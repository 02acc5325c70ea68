// `pi.logger` and `console`: lines for the log file and for listeners of the call, never for haft's
// streams. They never throw (spec omp 5.3).

import { core } from "ext:core/mod.js";
import { op_haft_log } from "ext:core/ops";
import { captured, currentCall, LogLevel } from "ext:haft/00_state.ts";
import { shareWithScripts } from "ext:haft/05_packages.ts";

function write(level: number, message: unknown, context?: unknown): void {
  try {
    const call = currentCall.get();
    op_haft_log(level, call?.id ?? 0, call?.owner ?? "", `${message}`, contextText(context));
  } catch {
    // A log line that cannot be made is not worth a call.
  }
}

function contextText(context: unknown): string {
  if (context === undefined || context === null) return "";
  try {
    return captured.jsonStringify(context, unwrapError) ?? "";
  } catch {
    return captured.jsonStringify({ context: `${context}` });
  }
}

function unwrapError(_key: string, value: unknown): unknown {
  if (value instanceof Error) {
    return { ...value, name: value.name, message: value.message, stack: value.stack };
  }
  return typeof value === "bigint" ? `${value}` : value;
}

/**
 * Measures of oh-my-pi's logger for its own start. Work that is given is done; nothing is kept
 * of how long it took.
 */
const timing = {
  time: (_name: string, work?: (...args: any[]) => unknown, ...args: unknown[]): unknown =>
    work?.(...args),
  startTiming(): void {},
  endTiming(): void {},
  printTimings(): void {},
  startupMarker(): void {},
  recordModuleLoadSpan(): void {},
  openSpanPath: (): string => "",
  shouldExitAfterTimings: (): boolean => false,
  timingModeIncludes: (): boolean => false,
  setTransports(): void {},
  /** Lines go to the host's log only; what is given back would take the sink away. */
  registerLogSink: (): (() => void) => () => {},
};

export const logger = {
  debug: (message: unknown, context?: unknown) => write(LogLevel.Debug, message, context),
  info: (message: unknown, context?: unknown) => write(LogLevel.Info, message, context),
  warn: (message: unknown, context?: unknown) => write(LogLevel.Warn, message, context),
  error: (message: unknown, context?: unknown) => write(LogLevel.Error, message, context),
  ...timing,
};

// It is the `logger` of `pi-coding-agent`.
shareWithScripts("logger", logger);

/** By the numbers that Deno's console gives them: `debug`; `log` and `info`; `warn`; `error`. */
const CONSOLE_LEVELS = [LogLevel.Debug, LogLevel.Info, LogLevel.Warn, LogLevel.Error];

/** Makes `console` write where `logger` does. Called once when the isolate starts. */
export function redirectConsole(): void {
  const { Console } = core.loadExtScript("ext:deno_web/01_console.js");
  const print = (text: string, level: number) =>
    write(CONSOLE_LEVELS[level] ?? LogLevel.Error, text.replace(/\n$/, ""));
  captured.defineProperty(globalThis, "console", {
    configurable: true,
    enumerable: false,
    writable: true,
    value: new Console(print),
  });
}
