// `pi.ui` and `pi.hasUI`: the person behind the call that uses them (spec omp 5.2).
//
// `pi` belongs to the module, the person to the call, and two calls of one module may come from two
// surfaces. So whose `ui` it is shows only when it is used: by the async context, through every await,
// timer and event. Rust knows the call's user and answers with nothing where there is none.

import {
  op_haft_ui_ask,
  op_haft_ui_editor_text,
  op_haft_ui_has_user,
  op_haft_ui_tell,
  op_haft_ui_withdraw,
} from "ext:core/ops";
import { captured, currentCall } from "ext:haft/00_state.ts";
import { packageByName } from "ext:haft/05_packages.ts";

/** What ends a question besides an answer. */
interface Dialog {
  signal?: AbortSignal;
  /** Milliseconds; zero or less means none. */
  timeout?: number;
}

let nextQuestion = 1;

/** Whether the person behind the current call can be asked now. */
export function hasUI(): boolean {
  const call = currentCall.get();
  return op_haft_ui_has_user(call?.id ?? 0, call?.owner ?? "");
}

async function ask(question: Record<string, unknown>, dialog?: Dialog): Promise<any> {
  const signal = dialog?.signal ?? undefined;
  if (signal !== undefined && typeof signal.addEventListener !== "function") {
    throw new TypeError("ui: options.signal must be an AbortSignal");
  }
  if (signal?.aborted) return undefined;
  const timeout = dialog?.timeout;
  if (typeof timeout === "number" && timeout > 0) question.timeoutMs = timeout;
  const call = currentCall.get();
  const id = nextQuestion++;
  const withdraw = () => op_haft_ui_withdraw(id);
  signal?.addEventListener("abort", withdraw, { once: true });
  try {
    const text = captured.jsonStringify(question);
    const answer = await op_haft_ui_ask(call?.id ?? 0, call?.owner ?? "", id, text);
    return captured.jsonParse(answer) ?? undefined;
  } finally {
    signal?.removeEventListener("abort", withdraw);
  }
}

function tell(notice: Record<string, unknown>): void {
  const call = currentCall.get();
  op_haft_ui_tell(call?.id ?? 0, call?.owner ?? "", captured.jsonStringify(notice));
}

const textOf = (value: unknown): string => (value === undefined ? "" : `${value}`);
const textOrNone = (value: unknown): string | null => (value == null ? null : `${value}`);

// Some programs take `{label, description}` for an option, and answer with the label.
const labelOf = (option: any): string =>
  typeof option === "object" && option !== null ? textOf(option.label) : textOf(option);

const LEVELS = { info: "info", warning: "warning", error: "error" } as const;

export const ui = {
  select: (
    title: string,
    options: readonly unknown[] = [],
    dialog?: Dialog,
  ): Promise<string | undefined> =>
    ask({ kind: "select", title: textOf(title), options: Array.from(options, labelOf) }, dialog),

  confirm: async (title: string, message?: string, dialog?: Dialog): Promise<boolean> =>
    (await ask({ kind: "confirm", title: textOf(title), message: textOf(message) }, dialog)) ===
    true,

  input: (title: string, placeholder?: string, dialog?: Dialog): Promise<string | undefined> =>
    ask({ kind: "input", title: textOf(title), placeholder: textOrNone(placeholder) }, dialog),

  editor: (title: string, prefill?: string, dialog?: Dialog): Promise<string | undefined> =>
    ask({ kind: "editor", title: textOf(title), prefill: textOrNone(prefill) }, dialog),

  custom: async (): Promise<undefined> => undefined,

  notify(message: string, level?: string): void {
    const known = LEVELS[level as keyof typeof LEVELS] ?? "info";
    tell({ kind: "notify", message: textOf(message), level: known });
  },

  setStatus(key: string, text?: string): void {
    tell({ kind: "status", key: textOf(key), text: textOrNone(text) });
  },

  setEditorText(text: string): void {
    tell({ kind: "editorText", text: textOf(text) });
  },

  getEditorText(): string {
    const call = currentCall.get();
    return op_haft_ui_editor_text(call?.id ?? 0, call?.owner ?? "");
  },

  get theme(): unknown {
    return hasUI() ? packageByName("pi-coding-agent").theme : undefined;
  },
};
