// Which keys do what in components, by the names that later versions of pi gave these actions.

import { matchesKey } from "./keys.ts";

export interface KeybindingDefinition {
  defaultKeys: string | string[];
  description?: string;
}

export type KeybindingsConfig = Record<string, string | string[] | undefined>;

const keys = (defaultKeys: string | string[], description: string): KeybindingDefinition => ({
  defaultKeys,
  description,
});

export const TUI_KEYBINDINGS: Record<string, KeybindingDefinition> = {
  "tui.editor.cursorUp": keys("up", "One line up"),
  "tui.editor.cursorDown": keys("down", "One line down"),
  "tui.editor.cursorLeft": keys(["left", "ctrl+b"], "One character back"),
  "tui.editor.cursorRight": keys(["right", "ctrl+f"], "One character on"),
  "tui.editor.cursorWordLeft": keys(["alt+left", "ctrl+left", "alt+b"], "One word back"),
  "tui.editor.cursorWordRight": keys(["alt+right", "ctrl+right", "alt+f"], "One word on"),
  "tui.editor.cursorLineStart": keys(["home", "ctrl+a"], "To the start of the line"),
  "tui.editor.cursorLineEnd": keys(["end", "ctrl+e"], "To the end of the line"),
  "tui.editor.jumpForward": keys("ctrl+]", "On to a character"),
  "tui.editor.jumpBackward": keys("ctrl+alt+]", "Back to a character"),
  "tui.editor.pageUp": keys("pageUp", "One page up"),
  "tui.editor.pageDown": keys("pageDown", "One page down"),
  "tui.editor.deleteCharBackward": keys("backspace", "Erase the character before"),
  "tui.editor.deleteCharForward": keys(["delete", "ctrl+d"], "Erase the character under it"),
  "tui.editor.deleteWordBackward": keys(["ctrl+w", "alt+backspace"], "Erase the word before"),
  "tui.editor.deleteWordForward": keys(["alt+d", "alt+delete"], "Erase the next word"),
  "tui.editor.deleteToLineStart": keys("ctrl+u", "Erase to the start of the line"),
  "tui.editor.deleteToLineEnd": keys("ctrl+k", "Erase to the end of the line"),
  "tui.editor.yank": keys("ctrl+y", "Put back what was erased"),
  "tui.editor.yankPop": keys("alt+y", "Put back what was erased before"),
  "tui.editor.undo": keys("ctrl+-", "Undo"),
  "tui.input.newLine": keys("shift+enter", "New line"),
  "tui.input.submit": keys("enter", "Submit"),
  "tui.input.tab": keys("tab", "Complete"),
  "tui.input.copy": keys("ctrl+c", "Copy"),
  "tui.select.up": keys("up", "One up"),
  "tui.select.down": keys("down", "One down"),
  "tui.select.pageUp": keys("pageUp", "One page up"),
  "tui.select.pageDown": keys("pageDown", "One page down"),
  "tui.select.confirm": keys("enter", "Choose"),
  "tui.select.cancel": keys(["escape", "ctrl+c"], "Cancel"),
};

/** Definitions with what a user bound instead. */
export class KeybindingsManager {
  readonly #definitions: Record<string, KeybindingDefinition>;
  #bound: KeybindingsConfig;

  constructor(definitions: Record<string, KeybindingDefinition>, bound: KeybindingsConfig = {}) {
    this.#definitions = definitions;
    this.#bound = bound;
  }

  matches(data: string, action: string): boolean {
    return this.getKeys(action).some((key) => matchesKey(data, key));
  }

  getKeys(action: string): string[] {
    const keys = this.#bound[action] ?? this.#definitions[action]?.defaultKeys ?? [];
    return Array.isArray(keys) ? keys : [keys];
  }

  getDefinition(action: string): KeybindingDefinition | undefined {
    return this.#definitions[action];
  }

  getConflicts(): { key: string; keybindings: string[] }[] {
    const users = new Map<string, string[]>();
    for (const action of Object.keys(this.#bound)) {
      for (const key of this.getKeys(action)) users.set(key, [...(users.get(key) ?? []), action]);
    }
    const shared = [...users].filter(([, actions]) => actions.length > 1);
    return shared.map(([key, keybindings]) => ({ key, keybindings }));
  }

  setUserBindings(bound: KeybindingsConfig): void {
    this.#bound = bound;
  }

  getUserBindings(): KeybindingsConfig {
    return { ...this.#bound };
  }

  getResolvedBindings(): KeybindingsConfig {
    const actions = Object.keys(this.#definitions);
    return Object.fromEntries(actions.map((action) => [action, this.getKeys(action)]));
  }
}

let manager = new KeybindingsManager(TUI_KEYBINDINGS);

export function getKeybindings(): KeybindingsManager {
  return manager;
}

export { getKeybindings as getEditorKeybindings };

export function setKeybindings(keybindings: KeybindingsManager): void {
  manager = keybindings;
}
