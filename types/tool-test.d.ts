// Tests of tools, for files `*.tool-test.ts` (docs/testing.md): `export default [ … ] satisfies ToolTest[]`.

/** A text: exactly this one, one with these parts, or one that matches a regular expression. */
export type TextMatch = string | { contains: string | string[] } | { matches: string };

/** Expected result of a call. Only what is given is compared, and success. */
export interface ToolTestExpectation {
  /** All text blocks, one to a line. */
  text?: TextMatch;
  /** All blocks, exactly. */
  content?: unknown[];
  /** Objects may have more keys than these. */
  details?: unknown;
  /** True if the tool is to report a failure. */
  isError?: boolean;
  /** All updates in their order: their texts, or what they hold. */
  updates?: (TextMatch | { content?: unknown[]; details?: unknown })[];
  /** The call is to be refused, or cannot be run: the text of that. */
  error?: TextMatch;
  /** The call is to be stopped. */
  stopped?: "deadline" | "cancelled" | "discarded";
}

/** One call, and what is expected of it. */
export interface ToolTestCall {
  /** The tool; not needed where the module has only one. */
  tool?: string;
  arguments?: Record<string, unknown>;
  expect?: ToolTestExpectation;
}

/** An answer to `pi.exec`. What of a request is not mentioned does not matter. */
export interface ExecStub {
  command: string;
  args?: string[];
  cwd?: string;
  input?: string;
  stdout?: string;
  stderr?: string;
  code?: number;
  killed?: boolean;
  /** The program is not there: the message. */
  error?: string;
}

/** An answer to `fetch`. What of a request is not mentioned does not matter. */
export interface FetchStub {
  url: string;
  method?: string;
  /** Those that the request must have; where a name says that it is secret, any value will do. */
  requestHeaders?: Record<string, string>;
  requestBody?: string;
  status?: number;
  headers?: Record<string, string>;
  body?: string;
  /** A body in JSON. */
  json?: unknown;
  /** The network fails: the message. */
  error?: string;
}

/** Result of a call, for `check`. */
export interface ToolTestResult {
  text: string;
  content: { type: string; text?: string; data?: string; mimeType?: string }[];
  details: any;
  isError: boolean;
  updates: { content: { type: string; text?: string }[]; details: any }[];
  /** Reason for which it could not be run; then there is nothing else. */
  error?: string;
}

/** One test: a call, or several of one session. */
export interface ToolTest extends ToolTestCall {
  name: string;
  calls?: ToolTestCall[];
  /** Answers of programs; with these or `fetch` nothing is recorded. */
  exec?: ExecStub[];
  /** Answers of servers. */
  fetch?: FetchStub[];
  /** Meets the world really. */
  live?: boolean;
  /** A folder beside the test file; the tool works in a copy of it. */
  project?: string;
  /** Files that the tool finds. */
  files?: Record<string, string>;
  /** Environment variables; `null` takes one away. */
  env?: Record<string, string | null>;
  /**
   * Answers of the user, question by question: a text, yes or no, `null` for no answer. Without it
   * there is no user.
   */
  ui?: (string | boolean | null)[];
  /** The session when the test begins. */
  session?: { event?: { reason: string }; branch?: unknown[]; entries?: unknown[] };
  timeoutMs?: number;
  /** Not run, for this reason. */
  skip?: string;
  /** Looks at what the calls came to, after `expect`, and throws if it is not content. */
  check?(...results: ToolTestResult[]): void | Promise<void>;
}

/** A file with tests that says which module they are about. */
export interface ToolTestFile {
  /** Relative to the file; without it the module of the same name. */
  module?: string;
  tests: ToolTest[];
}
