// What modules ask of a terminal: what it can, links, and the classes that own one.
//
// Tools have no terminal here, the program around them has. What draws on one by itself says so when
// it is made.

import { standIns, unavailable } from "../unavailable.ts";
import { type CellDimensions, currentScreen } from "./screen.ts";

export interface TerminalCapabilities {
  images: "kitty" | "iterm2" | null;
  trueColor: boolean;
  hyperlinks: boolean;
}

/** Capabilities of the screen for which components are drawn. */
export function getCapabilities(): TerminalCapabilities {
  const { showsImages, colors, hyperlinks } = currentScreen();
  return { images: showsImages ? "kitty" : null, trueColor: colors === "truecolor", hyperlinks };
}

export { getCapabilities as detectCapabilities };

/** The host knows the capabilities of its terminal, so setting them has no effect. */
export function setCapabilities(_capabilities: TerminalCapabilities): void {}
export function resetCapabilitiesCache(): void {}
export function setCellDimensions(_cell: CellDimensions): void {}

export function getCellDimensions(): CellDimensions {
  const [widthPx, heightPx] = currentScreen().cell;
  return { widthPx, heightPx };
}

/** `text` as a link, on terminals that can follow it. */
export function hyperlink(text: string, url: string): string {
  return `\x1b]8;;${url}\x1b\\${text}\x1b]8;;\x1b\\`;
}

const IMAGE_LINE = /\x1b_G|\x1b\]1337;File=/;

/** Members of omp's terminal that its components read. */
export const TERMINAL = {
  id: "base",
  get imageProtocol(): "kitty" | "iterm2" | null {
    return getCapabilities().images;
  },
  get trueColor(): boolean {
    return getCapabilities().trueColor;
  },
  get hyperlinks(): boolean {
    return getCapabilities().hyperlinks;
  },
  /** Returns true if a line contains a picture, which must not be cut. */
  isImageLine: (line: string): boolean => IMAGE_LINE.test(line),
  /** Does nothing: the host notifies its user itself. */
  sendNotification(_message: unknown): void {},
};

const REASON = "the terminal belongs to the program that runs haft";
const noTerminal = (name: string) => unavailable("pi-tui", name, REASON);

export const TUI = noTerminal("TUI");
export const ProcessTerminal = noTerminal("ProcessTerminal");
export const StdinBuffer = noTerminal("StdinBuffer");
export const CombinedAutocompleteProvider = noTerminal("CombinedAutocompleteProvider");

// Facts about a terminal that tools do not have, and settings that change nothing here.
export const isKittyProtocolActive = (): boolean => false;
export const isAppleTerminalSession = (): boolean => false;
export const isViewportTUI = (): boolean => false;
export const setKittyProtocolActive = (): void => {};
export const setCapabilityOverrides = (): void => {};
export const setImageTranscoder = (): void => {};
export const getNativeClipboard = (): undefined => undefined;

/** Members of `pi-tui` 1.6 that draw a whole screen and that haft has not. Tools may import them. */
const SCREEN_MEMBERS = `
  backgroundAnsi colorToHex colorToOkhsl colorToOklch colorToRgb compositeTuiLine foregroundAnsi
  formatProgramStatus getOsc8LinkAtColumn getSelectPageIndex getTerminalColorMode HStack
  indexedColor Marked mixColors MouseRegion okhslColor oklabToOkhslLightness oklchColor
  parseColor parseTerminalColorSchemeReport renderFakeCursor replaceControlCharacters rgbColor
  styleText styleTextWithAnsi TuiAltScreen TuiMainScreen VStack
`;

/** Exports that are looked up when they are asked for. */
export const __getters = standIns("pi-tui", REASON, SCREEN_MEMBERS);
