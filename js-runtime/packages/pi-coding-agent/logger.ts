// The log of a tool, in the shape of the original's logger.
//
// Writes to the console, which the host keeps in the tool's own log and away from its output.

type Context = Record<string, unknown>;

function write(
  level: "debug" | "info" | "warn" | "error",
  message: string,
  context?: Context,
): void {
  // A log line must never be what breaks a tool.
  try {
    if (context === undefined) console[level](message);
    else console[level](message, context);
  } catch {}
}

export const logger = {
  debug: (message: string, context?: Context) => write("debug", message, context),
  info: (message: string, context?: Context) => write("info", message, context),
  warn: (message: string, context?: Context) => write("warn", message, context),
  error: (message: string, context?: Context) => write("error", message, context),
  /** Runs `work`; the original also notes how long it took. */
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
  registerLogSink: (): (() => void) => () => {},
};
