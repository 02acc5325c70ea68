// `pi.ui` and `pi.hasUI`: the person behind the call that uses them (spec omp 5.2).
//
// `pi` belongs to the module, the person to the call, and two calls of one module may come from two
// surfaces. So whose `pi.ui` it is shows only when it is used: by the async context, through awaits and
// timers. Where that is lost (what Node's streams of child processes call) `ctx.ui` still knows its
// call. Rust knows the call's user and answers with nothing where there is none.

import {
  op_haft_ui_ask,
  op_haft_ui_editor_text,
  op_haft_ui_has_user,
  op_haft_ui_tell,
  op_haft_ui_withdraw,
} from "ext:core/ops";
import { captured, currentCall, type RunningCall } from "ext:haft/00_state.ts";
import { packageByName } from "ext:haft/05_packages.ts";
import { type Manner, showCustom } from "ext:haft/12_custom.ts";

/** Options that end a question without an answer. */
interface Dialog {
  signal?: AbortSignal;
  /** Milliseconds; zero or less means none. */
  timeout?: number;
}

let nextQuestion = 1;

type Whose = () => RunningCall | undefined;

/** Returns true if the user of the current call can be asked now. */
export function hasUI(): boolean {
  return hasUser(currentCall.get());
}

/** Returns true if the user of `call` can be asked now. */
export function hasUser(call: RunningCall | undefined): boolean {
  return op_haft_ui_has_user(call?.id ?? 0, call?.owner ?? "");
}

async function ask(
  call: RunningCall | undefined,
  question: Record<string, unknown>,
  dialog?: Dialog,
): Promise<any> {
  const signal = dialog?.signal ?? undefined;
  if (signal !== undefined && typeof signal.addEventListener !== "function") {
    throw new TypeError("ui: options.signal must be an AbortSignal");
  }
  const cancelled = call?.abort?.signal;
  if (signal?.aborted || cancelled?.aborted) return undefined;
  const timeout = dialog?.timeout;
  if (typeof timeout === "number" && timeout > 0) question["timeoutMs"] = timeout;
  const id = nextQuestion++;
  const withdraw = () => op_haft_ui_withdraw(id);
  signal?.addEventListener("abort", withdraw, { once: true });
  cancelled?.addEventListener("abort", withdraw, { once: true });
  try {
    const text = captured.jsonStringify(question);
    const answer = await op_haft_ui_ask(call?.id ?? 0, call?.owner ?? "", id, text);
    return captured.jsonParse(answer) ?? undefined;
  } finally {
    signal?.removeEventListener("abort", withdraw);
    cancelled?.removeEventListener("abort", withdraw);
  }
}

function tell(call: RunningCall | undefined, notice: Record<string, unknown>): void {
  op_haft_ui_tell(call?.id ?? 0, call?.owner ?? "", captured.jsonStringify(notice));
}

const textOf = (value: unknown): string => (value === undefined ? "" : `${value}`);
const textOrNone = (value: unknown): string | null => (value == null ? null : `${value}`);

// Some programs take `{label, description}` for an option, and answer with the label.
const labelOf = (option: any): string =>
  typeof option === "object" && option !== null ? textOf(option.label) : textOf(option);

const LEVELS = { info: "info", warning: "warning", error: "error" } as const;

type Text = Promise<string | undefined>;

const nothing = (): void => {};

/** Further members of `ui` of pi's extensions: parts of a screen that haft does not have. */
const OF_EXTENSIONS = {
  setWidget: nothing,
  setFooter: nothing,
  setHeader: nothing,
  setTitle: nothing,
  setTheme: nothing,
  setWorkingMessage: nothing,
  setWorkingIndicator: nothing,
  setToolsExpanded: nothing,
  getToolsExpanded: (): boolean => false,
  setEditorComponent: nothing,
  getEditorComponent: nothing,
  pasteToEditor: nothing,
  addAutocompleteProvider: nothing,
  onTerminalInput: () => nothing,
};

/** The `ui` of whichever call `whose` names when it is used. */
export function uiOf(whose: Whose) {
  return {
    __proto__: OF_EXTENSIONS,

    select(title: string, options: readonly unknown[] = [], dialog?: Dialog): Text {
      const labels = Array.from(options, labelOf);
      return ask(whose(), { kind: "select", title: textOf(title), options: labels }, dialog);
    },

    async confirm(title: string, message?: string, dialog?: Dialog): Promise<boolean> {
      const question = { kind: "confirm", title: textOf(title), message: textOf(message) };
      return (await ask(whose(), question, dialog)) === true;
    },

    input(title: string, placeholder?: string, dialog?: Dialog): Text {
      const example = textOrNone(placeholder);
      return ask(whose(), { kind: "input", title: textOf(title), placeholder: example }, dialog);
    },

    editor(title: string, prefill?: string, dialog?: Dialog): Text {
      const text = textOrNone(prefill);
      return ask(whose(), { kind: "editor", title: textOf(title), prefill: text }, dialog);
    },

    async custom(factory: any, manner?: Manner): Promise<unknown> {
      return showCustom(whose(), nextQuestion++, factory, manner ?? undefined);
    },

    notify(message: string, level?: string): void {
      const known = LEVELS[level as keyof typeof LEVELS] ?? "info";
      tell(whose(), { kind: "notify", message: textOf(message), level: known });
    },

    setStatus(key: string, text?: string): void {
      tell(whose(), { kind: "status", key: textOf(key), text: textOrNone(text) });
    },

    setEditorText(text: string): void {
      tell(whose(), { kind: "editorText", text: textOf(text) });
    },

    getEditorText(): string {
      const call = whose();
      return op_haft_ui_editor_text(call?.id ?? 0, call?.owner ?? "");
    },

    get theme(): unknown {
      return hasUser(whose()) ? packageByName("pi-coding-agent").theme : undefined;
    },
  };
}

/** `pi.ui`: whose it is, the async context says. */
export const ui = uiOf(() => currentCall.get());
