// Lets a tool draw its calls and results (spec omp 9): components in, lines out.
//
// Three versions of the interface are supported. pi called `renderCall(args, theme)`, omp calls
// `renderCall(args, options, theme)`, later pi `renderCall(args, theme, context)`; so the second
// argument is options and a theme, the third a theme and a context, and the fourth of `renderResult` is
// the arguments and a context. Members that an author does not expect are inherited, never own: they
// do not appear in a list of keys.

import { op_haft_log } from "ext:core/ops";
import {
  captured,
  LogLevel,
  onBehalfOf,
  ReplyKind,
  reply,
  SafeMap,
  settings,
  withoutCall,
} from "ext:haft/00_state.ts";
import { packageByName } from "ext:haft/05_packages.ts";
import { checkBuiltIns } from "ext:haft/22_intact.ts";
import { messageOf } from "ext:haft/23_json_careful.ts";
import { kindOf, type LoadedTool, stackOf } from "ext:haft/30_load.ts";
import { findTool, LOST } from "ext:haft/31_call.ts";

/** Request of Rust; twin of `Request` in `src/family/js/drawing.rs`. */
interface Request {
  callId: string;
  args: any;
  /** Undefined if the call itself is drawn. */
  result?: { content: unknown[]; details: unknown; isError?: boolean };
  width: number;
  /** Columns that the host's own block takes of the width. */
  margin: number;
  expanded: boolean;
  isPartial: boolean;
  spinnerFrame?: number;
  colors: "none" | "256" | "truecolor";
  isLight: boolean;
  showsImages: boolean;
  hyperlinks: boolean;
  cell: [number, number];
}

/** State that is kept between two drawings of one call. */
interface Row {
  state: Record<string, unknown>;
  renderCall?: any;
  renderResult?: any;
}

/** The rows of the calls that were drawn last, the newest at the end. */
const rows = new SafeMap<string, Row>();
const MOST_ROWS = 64;

/** Draws for the request `id`; `text` is the JSON of a `Request`. */
export function render(id: number, moduleId: number, toolIndex: number, text: string): void {
  const tool = findTool(moduleId, toolIndex);
  if (tool === undefined) return fail(id, new Error(LOST));
  const call = withoutCall(id, tool.name, moduleId);
  const finish = (lines: string) => {
    checkBuiltIns(moduleId);
    reply(id, ReplyKind.Done, lines);
  };
  const broken = (error: unknown) => {
    checkBuiltIns(moduleId);
    log(tool, error);
    fail(id, error);
  };
  try {
    const request: Request = captured.jsonParse(text);
    const stage = request.result === undefined ? "renderCall" : "renderResult";
    if (typeof tool.authored[stage] !== "function") return finish("");
    const row = rowOf(`${moduleId}/${toolIndex}/${request.callId}`);
    const drawn = onBehalfOf(call, () => ask(tool, stage, request, row));
    const paint = (component: unknown) =>
      onBehalfOf(call, () => painted(tool, stage, request, row, component));
    if (typeof drawn?.then !== "function") return finish(paint(drawn));
    captured.then(captured.resolve(drawn).then(paint), (lines) => finish(lines), broken);
  } catch (error) {
    broken(error);
  }
}

function fail(id: number, error: unknown): void {
  const failure = { error: messageOf(error), stack: stackOf(error) };
  reply(id, ReplyKind.Failed, captured.jsonStringify(failure));
}

function log(tool: LoadedTool, error: unknown): void {
  const context = captured.jsonStringify({ error: messageOf(error) });
  op_haft_log(LogLevel.Warn, 0, tool.name, "Tool renderer failed", context);
}

function rowOf(key: string): Row {
  const known = rows.get(key);
  const row = known ?? { state: {} };
  rows.delete(key);
  rows.set(key, row);
  if (rows.size > MOST_ROWS) {
    const [oldest, { renderCall, renderResult }] = rows.entries().next().value as [string, Row];
    rows.delete(oldest);
    dispose(renderCall);
    dispose(renderResult);
  }
  return row;
}

function dispose(component: any): void {
  try {
    if (typeof component?.dispose === "function") component.dispose();
  } catch {}
}

type Stage = "renderCall" | "renderResult";

function ask(tool: LoadedTool, stage: Stage, request: Request, row: Row): any {
  const theme = packageByName("pi-tui").theme;
  theme[Symbol.for("haft.screen")](request);
  const { args, result, expanded, isPartial, spinnerFrame } = request;
  const options: Record<string, unknown> = { expanded, isPartial };
  if (spinnerFrame !== undefined) options.spinnerFrame = spinnerFrame;
  const context = {
    args,
    toolCallId: request.callId,
    invalidate() {},
    lastComponent: row[stage],
    state: row.state,
    cwd: settings.cwd,
    executionStarted: result !== undefined || isPartial,
    argsComplete: true,
    expanded,
    isPartial,
    isError: result?.isError === true,
    showImages: request.showsImages,
  };
  if (result === undefined) {
    const { argsComplete, executionStarted } = context;
    const both = inheriting(theme, { ...options, argsComplete, executionStarted });
    return tool.authored.renderCall(args, both, inheriting(theme, context));
  }
  const given = { ...result, details: result.details ?? {}, isError: result.isError === true };
  const known = typeof args === "object" && args !== null && !captured.isArray(args);
  const fourth = known ? inheriting(context, args) : args;
  return tool.authored.renderResult(given, options, theme, fourth);
}

function inheriting(parent: object, own: object): any {
  const child = Object.create(parent);
  for (const key of captured.keys(own)) {
    const value = (own as Record<string, unknown>)[key];
    captured.defineProperty(child, key, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
  }
  return child;
}

/** Two marks and then the lines, one below the other, as `painted` of `src/family/js/drawing.rs` reads them. */
function painted(
  tool: LoadedTool,
  stage: Stage,
  request: Request,
  row: Row,
  component: any,
): string {
  if (row[stage] !== component) dispose(row[stage]);
  row[stage] = component;
  const isFramed = tool.authored.renderShell === "self";
  const frame = isFramed ? "F" : "-";
  // The author has nothing to show.
  if (component === undefined || component === null) return `${frame}0`;
  if (typeof component.render !== "function") {
    throw new TypeError(`it returned ${kindOf(component)}, and not a component`);
  }
  const lines = component.render(request.width - (isFramed ? 0 : request.margin));
  if (!captured.isArray(lines)) {
    throw new TypeError(`\`render\` of its component returned ${kindOf(lines)}, and not lines`);
  }
  if (lines.length === 0) return `${frame}0`;
  // Beside the lines from the start: what is put before a long text later makes V8 copy all of it.
  const whole = [`${frame}L`];
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at];
    if (typeof line !== "string") {
      throw new TypeError(`line ${at + 1} of its component is ${kindOf(line)}`);
    }
    whole[at + 1] = line;
  }
  return whole.join("\n");
}
