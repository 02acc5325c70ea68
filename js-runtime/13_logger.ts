// `pi.logger`: lines for the log file, never for the console, never a throw (spec omp 5.3).

import { op_haft_log } from "ext:core/ops";
import { captured, currentCall, LogLevel } from "ext:haft/00_state.ts";

function write(level: number, message: unknown, context?: unknown): void {
  try {
    op_haft_log(level, currentCall.get()?.owner ?? "", `${message}`, contextText(context));
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

export const logger = {
  debug: (message: unknown, context?: unknown) => write(LogLevel.Debug, message, context),
  info: (message: unknown, context?: unknown) => write(LogLevel.Info, message, context),
  warn: (message: unknown, context?: unknown) => write(LogLevel.Warn, message, context),
  error: (message: unknown, context?: unknown) => write(LogLevel.Error, message, context),
};
