// How components look in the theme.

import type { EditorTheme } from "@earendil-works/pi-tui/dist/components/editor.js";
import type { SelectListTheme } from "@earendil-works/pi-tui/dist/components/select-list.js";
import type { SettingsListTheme } from "@earendil-works/pi-tui/dist/components/settings-list.js";

import { highlightCode } from "./highlight.ts";
import type { MarkdownTheme } from "./markdown.ts";
import { theme } from "./theme.ts";

const color = (name: string) => (text: string) => theme.fg(name, text);

/** Style of `Markdown` in this theme. */
export function getMarkdownTheme(): MarkdownTheme {
  return {
    heading: color("mdHeading"),
    link: color("mdLink"),
    linkUrl: color("mdLinkUrl"),
    code: color("mdCode"),
    codeBlock: color("mdCodeBlock"),
    codeBlockBorder: color("mdCodeBlockBorder"),
    quote: color("mdQuote"),
    quoteBorder: color("mdQuoteBorder"),
    hr: color("mdHr"),
    listBullet: color("mdListBullet"),
    bold: (text) => theme.bold(text),
    italic: (text) => theme.italic(text),
    underline: (text) => theme.underline(text),
    strikethrough: (text) => theme.strikethrough(text),
    highlightCode,
  };
}

/** Style of `SelectList` in this theme. */
export function getSelectListTheme(): SelectListTheme {
  return {
    selectedPrefix: color("accent"),
    selectedText: color("accent"),
    description: color("muted"),
    scrollInfo: color("muted"),
    noMatch: color("muted"),
  };
}

/** Style of `Editor` in this theme. */
export function getEditorTheme(): EditorTheme {
  return { borderColor: color("borderMuted"), selectList: getSelectListTheme() };
}

/** Style of `SettingsList` in this theme. */
export function getSettingsListTheme(): SettingsListTheme {
  return {
    label: (text, selected) => theme.fg(selected ? "accent" : "text", text),
    value: (text, selected) => theme.fg(selected ? "accent" : "muted", text),
    description: color("dim"),
    cursor: theme.fg("accent", "→ "),
    hint: color("dim"),
  };
}

const KEYS: Record<string, string> = {
  expandTools: "ctrl+o",
  "app.tools.expand": "ctrl+o",
  selectConfirm: "enter",
  "tui.select.confirm": "enter",
  selectCancel: "escape",
  "tui.select.cancel": "escape",
  interrupt: "escape",
  "app.interrupt": "escape",
  clear: "ctrl+c",
  exit: "ctrl+d",
};

/** `keyHint("expandTools", "to expand")` → `ctrl+o to expand`. */
export function keyHint(action: string, description: string): string {
  return rawKeyHint(KEYS[action] ?? action, description);
}

/** The same with the key itself. */
export function rawKeyHint(key: string, description: string): string {
  return theme.fg("dim", key) + theme.fg("muted", ` ${description}`);
}

/** The key of an action. */
export function keyText(action: string): string {
  return KEYS[action] ?? action;
}
