// Errors of the library.

/**
 * Kind of a failure. The first group is haft's own (docs/cli.md); the second comes from the library:
 * `no-binary` (haft's program was not found or cannot be started), `ended` (its process ended unexpectedly), `closed`
 * (`close()` was called), `protocol` (an invalid message).
 */
export type HaftErrorKind =
  | "usage"
  | "bad-arguments"
  | "no-such-tool"
  | "untrusted"
  | "denied"
  | "load"
  | "stopped"
  | "isolate-lost"
  | "unavailable"
  | "limited"
  | "lost"
  | "internal"
  | "no-binary"
  | "ended"
  | "closed"
  | "protocol";

/** A failure of haft itself. A tool's own failure is a result with `isError`. */
export class HaftError extends Error {
  override readonly name = "HaftError";
  readonly kind: HaftErrorKind;
  /** Way out of the problem. */
  readonly hint: string | undefined;

  constructor(kind: HaftErrorKind, message: string, hint?: string, cause?: unknown) {
    super(hint === undefined ? message : `${message}\nhint: ${hint}`, { cause });
    this.kind = kind;
    this.hint = hint;
  }
}

/**
 * The error that adapters throw for a result with `isError`, for frameworks that expect an exception. Its name is
 * `Error`, since frameworks show it to the model.
 */
export class ToolError extends Error {
  readonly tool: string;
  readonly result: unknown;

  constructor(tool: string, text: string, result: unknown) {
    super(text === "" ? `the tool ${tool} failed without a text` : text);
    this.tool = tool;
    this.result = result;
  }
}

const KINDS_BY_CODE: Record<number, HaftErrorKind> = {
  [-32602]: "usage",
  [-32601]: "protocol",
  [-32600]: "protocol",
  [-32001]: "no-such-tool",
  [-32002]: "untrusted",
  [-32003]: "stopped",
  [-32004]: "isolate-lost",
  [-32005]: "load",
  [-32006]: "usage",
};

/** Converts the error object of a JSON-RPC response. */
export function errorOfResponse(error: any): HaftError {
  const kind = error?.data?.kind ?? KINDS_BY_CODE[error?.code] ?? "internal";
  return new HaftError(kind, String(error?.message ?? "unknown error"), error?.data?.hint);
}

/** Returns the text of anything thrown. */
export function textOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message || thrown.name;
  try {
    return String(thrown);
  } catch {
    return "unknown error";
  }
}
