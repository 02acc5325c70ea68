// The theme that renderers are given: styles by the names that tools use, as many colours as there are.
//
// Every style is ended by its own code, so that styles nest. A name that does not exist throws, as in
// the original. On a screen without colours all styles are the text itself.

import { currentScreen, drawFor, type Screen } from "./screen.ts";
import type { BoxBorder } from "./text.ts";
import { BACKGROUNDS, COLORS, OWN, rgbOf, shade } from "./theme-colors.ts";
import { LANGUAGE_SYMBOL, SYMBOL_GROUPS, SYMBOLS } from "./theme-symbols.ts";

type Group = Record<string, string>;
type Box = BoxBorder["chars"] & Group;

/** Colours of the text, or of the ground behind it, by the codes that begin them. */
type Layer = 38 | 48;

const TABLES = { 38: COLORS, 48: BACKGROUNDS };

let screen: Screen | undefined;
/** The codes on the screen of this moment by the names of colours. */
let known: Record<Layer, Map<string, string>>;

function codeOf(layer: Layer, name: string): string {
  if (screen !== currentScreen()) {
    screen = currentScreen();
    known = { 38: new Map(), 48: new Map() };
  }
  let code = known[layer].get(name);
  if (code === undefined) known[layer].set(name, (code = makeCode(layer, name)));
  return code;
}

function makeCode(layer: Layer, name: string): string {
  const color = Object.hasOwn(TABLES[layer], name) ? TABLES[layer][name] : undefined;
  if (color === undefined) {
    throw new Error(`Unknown theme ${layer === 38 ? "" : "background "}color: ${name}`);
  }
  const { colors, isLight } = currentScreen();
  const { index, rgb } = shade(color, isLight);
  if (colors === "none") return "";
  if (index === OWN) return `\x1b[${layer + 1}m`;
  if (colors === "256") return `\x1b[${layer};5;${index}m`;
  return `\x1b[${layer};2;${rgb >> 16};${(rgb >> 8) & 255};${rgb & 255}m`;
}

function styled(begin: number, text: string, end: number): string {
  return currentScreen().colors === "none" ? text : `\x1b[${begin}m${text}\x1b[${end}m`;
}

/** Styles and symbols by the names that tools use. */
export class Theme {
  readonly name: string = "haft";

  fg(color: string, text: string): string {
    const begin = codeOf(38, color);
    return begin === "" ? text : `${begin}${text}\x1b[39m`;
  }

  bg(color: string, text: string): string {
    const begin = codeOf(48, color);
    return begin === "" ? text : `${begin}${text}\x1b[49m`;
  }

  fgResolved(color: string, text: string): string {
    return this.fg(color, text);
  }

  /** A ground that goes on behind resets inside of the text. */
  bgFill(color: string, text: string): string {
    const begin = codeOf(48, color);
    if (begin === "") return text;
    const kept = text.replace(/\x1b\[(?:0?|49)m/g, (reset) => reset + begin);
    return `${begin}${kept}\x1b[49m`;
  }

  fgOnBg(color: string, _background: string, text: string): string {
    return this.fg(color, text);
  }

  bold(text: string): string {
    return styled(1, text, 22);
  }

  dim(text: string): string {
    return styled(2, text, 22);
  }

  italic(text: string): string {
    return styled(3, text, 23);
  }

  underline(text: string): string {
    return styled(4, text, 24);
  }

  inverse(text: string): string {
    return styled(7, text, 27);
  }

  strikethrough(text: string): string {
    return styled(9, text, 29);
  }

  getFgAnsi(color: string): string {
    return codeOf(38, color);
  }

  getBgAnsi(color: string): string {
    return codeOf(48, color);
  }

  getFgOnBgAnsi(color: string, _background: string): string {
    return codeOf(38, color);
  }

  getContrastFgAnsi(color: string): string {
    const { colors, isLight } = currentScreen();
    if (colors === "none") return "";
    const found = COLORS[color] ?? BACKGROUNDS[color];
    const rgb = found ? shade(found, isLight).rgb : 0;
    const luma = 299 * (rgb >> 16) + 587 * ((rgb >> 8) & 255) + 114 * (rgb & 255);
    return luma > 140_000 ? "\x1b[38;5;16m" : "\x1b[38;5;231m";
  }

  getColorHex(color: string): string {
    return hex(COLORS[color]);
  }

  getBgHex(color: string): string {
    return hex(BACKGROUNDS[color]);
  }

  getAccentColorHex(): string {
    return hex(COLORS["accent"]);
  }

  getColorMode(): "truecolor" | "256color" {
    return currentScreen().colors === "truecolor" ? "truecolor" : "256color";
  }

  getThinkingBorderColor(level: string): (text: string) => string {
    const name = `thinking${level.slice(0, 1).toUpperCase()}${level.slice(1)}`;
    const color = Object.hasOwn(COLORS, name) ? name : "thinkingOff";
    return (text) => this.fg(color, text);
  }

  getBashModeBorderColor(): (text: string) => string {
    return (text) => this.fg("bashMode", text);
  }

  getPythonModeBorderColor(): (text: string) => string {
    return (text) => this.fg("pythonMode", text);
  }

  get isLight(): boolean {
    return currentScreen().isLight;
  }

  symbol(key: string): string {
    return SYMBOLS.get(key) ?? (key.startsWith("lang.") ? LANGUAGE_SYMBOL : "");
  }

  styledSymbol(key: string, color: string): string {
    return this.fg(color, this.symbol(key));
  }

  getSymbolPreset(): "unicode" {
    return "unicode";
  }

  readonly spinnerFrames: string[] = [..."⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"];

  getSpinnerFrames(_type?: string): string[] {
    return this.spinnerFrames;
  }

  getLangIcon(language?: string): string {
    return language === undefined ? "" : LANGUAGE_SYMBOL;
  }

  getLangIconStyled(language?: string): string {
    const icon = this.getLangIcon(language);
    return icon && this.fg("muted", icon);
  }

  // The groups are made below.
  declare readonly status: Group;
  declare readonly nav: Group;
  declare readonly tree: Group;
  declare readonly progress: Group;
  declare readonly boxRound: Box;
  declare readonly boxDotted: Group;
  declare readonly boxSharp: Box;
  declare readonly sep: Group;
  declare readonly icon: Group;
  declare readonly thinking: Group;
  declare readonly checkbox: Group;
  declare readonly radio: Group;
  declare readonly format: Group;
  declare readonly md: Group;
}

const { chip: _chip, tool: _tool, ...groups } = SYMBOL_GROUPS;
for (const [name, value] of Object.entries(groups)) {
  Object.defineProperty(Theme.prototype, name, { value });
}

function hex(color: (typeof COLORS)[string] | undefined): string {
  if (!color || color[0] === OWN) return "";
  const { rgb } = shade(color, currentScreen().isLight);
  return `#${rgb.toString(16).padStart(6, "0")}`;
}

/** The theme that is in force. */
export const theme = new Theme();

// The host sets the screen of the renderers with this; tools do not see it when they list keys.
Object.defineProperty(theme, Symbol.for("haft.screen"), { value: drawFor });

/** oh-my-pi reads a theme from a file here; haft has one. */
export function initTheme(): void {}

/** The red, green and blue of an index of the palette of 256, as CSS has it. */
export function ansi256ToHex(index: number): string {
  return `#${rgbOf(index).toString(16).padStart(6, "0")}`;
}
