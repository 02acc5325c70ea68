// The colours that tools name when they draw, and the themes of components made of them.
//
// One palette of the 256 colours of terminals, readable on dark and light. Every style is ended by
// its own code, so that styles nest. A name that does not exist throws, as in the original.

import type { Component, MarkdownTheme, SelectListTheme } from "@oh-my-pi/pi-tui";

import { highlightCode } from "./highlight.ts";

/** The terminal's own colour. */
const OWN = -1;

const COLORS: Record<string, number> = {
  accent: 74,
  border: 67,
  borderAccent: 74,
  borderMuted: 240,
  success: 71,
  error: 167,
  warning: 172,
  info: 74,
  link: 74,
  muted: 244,
  dim: 242,
  text: OWN,
  thinkingText: 244,
  userMessageText: OWN,
  customMessageText: OWN,
  customMessageLabel: 140,
  toolTitle: OWN,
  toolOutput: 244,
  toolDiffAdded: 71,
  toolDiffRemoved: 167,
  toolDiffContext: 244,
  mdHeading: 179,
  mdLink: 74,
  mdLinkUrl: 242,
  mdCode: 109,
  mdCodeBlock: 71,
  mdCodeBlockBorder: 242,
  mdQuote: 244,
  mdQuoteBorder: 242,
  mdHr: 242,
  mdListBullet: 109,
  syntaxComment: 65,
  syntaxKeyword: 68,
  syntaxFunction: 179,
  syntaxVariable: 110,
  syntaxString: 173,
  syntaxNumber: 108,
  syntaxType: 72,
  syntaxOperator: OWN,
  syntaxPunctuation: OWN,
  thinkingOff: 240,
  thinkingMinimal: 242,
  thinkingLow: 67,
  thinkingMedium: 74,
  thinkingHigh: 139,
  thinkingXhigh: 176,
  bashMode: 71,
  pythonMode: 179,
  statusLine: 244,
};

const BACKGROUNDS: Record<string, number> = {
  selectedBg: 237,
  userMessageBg: 236,
  customMessageBg: 236,
  toolPendingBg: 235,
  toolSuccessBg: 235,
  toolErrorBg: 52,
  statusLineBg: 235,
};

const SYMBOLS: Record<string, string> = {
  "status.success": "✓",
  "status.error": "✗",
  "status.warning": "⚠",
  "status.info": "ℹ",
  "status.pending": "○",
  "status.running": "●",
  "nav.cursor": "→",
  "nav.expand": "▸",
  "nav.collapse": "▾",
  "tree.branch": "├─",
  "tree.last": "└─",
  "tree.vertical": "│",
  "checkbox.checked": "☑",
  "checkbox.unchecked": "☐",
  "format.bullet": "•",
  "format.dash": "–",
  "sep.dot": " · ",
};

/** Styles by the names that tools use. */
export class Theme {
  readonly name: string = "haft";
  readonly spinnerFrames: readonly string[] = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"];

  fg(color: string, text: string): string {
    const code = COLORS[color];
    if (code === undefined) throw new Error(`Unknown theme color: ${color}`);
    return `${code === OWN ? "\x1b[39m" : `\x1b[38;5;${code}m`}${text}\x1b[39m`;
  }

  bg(color: string, text: string): string {
    const code = BACKGROUNDS[color];
    if (code === undefined) throw new Error(`Unknown theme background color: ${color}`);
    return `\x1b[48;5;${code}m${text}\x1b[49m`;
  }

  bold(text: string): string {
    return `\x1b[1m${text}\x1b[22m`;
  }

  italic(text: string): string {
    return `\x1b[3m${text}\x1b[23m`;
  }

  underline(text: string): string {
    return `\x1b[4m${text}\x1b[24m`;
  }

  inverse(text: string): string {
    return `\x1b[7m${text}\x1b[27m`;
  }

  strikethrough(text: string): string {
    return `\x1b[9m${text}\x1b[29m`;
  }

  symbol(key: string): string {
    return SYMBOLS[key] ?? "";
  }

  styledSymbol(key: string, color: string): string {
    return this.fg(color, this.symbol(key));
  }
}

/** The theme that is in force. */
export const theme = new Theme();

/** The original reads a theme from a file here; haft has one. */
export function initTheme(): void {}

/** How `Markdown` looks in this theme. */
export function getMarkdownTheme(): MarkdownTheme {
  const color = (name: string) => (text: string) => theme.fg(name, text);
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

/** How `SelectList` looks in this theme. */
export function getSelectListTheme(): SelectListTheme {
  const color = (name: string) => (text: string) => theme.fg(name, text);
  return {
    selectedPrefix: color("accent"),
    selectedText: color("accent"),
    description: color("muted"),
    scrollInfo: color("muted"),
    noMatch: color("muted"),
  };
}

const KEYS: Record<string, string> = {
  expandTools: "ctrl+o",
  selectConfirm: "enter",
  selectCancel: "escape",
  interrupt: "escape",
  clear: "ctrl+c",
  exit: "ctrl+d",
};

/** `keyHint("expandTools", "to expand")` → `ctrl+o to expand`. */
export function keyHint(action: string, description: string): string {
  return theme.fg("dim", KEYS[action] ?? action) + theme.fg("muted", ` ${description}`);
}

/** A horizontal line as wide as there is room. */
export class DynamicBorder implements Component {
  readonly #color: (text: string) => string;

  constructor(color: (text: string) => string = (text) => theme.fg("border", text)) {
    this.#color = color;
  }

  invalidate(): void {}

  render(width: number): string[] {
    return width < 1 ? [] : [this.#color("─".repeat(width))];
  }
}
