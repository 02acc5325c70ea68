// What modules and the published components ask of a terminal: what it can, links, pictures, and the
// classes that own one.
//
// Tools have no terminal here, the program around them has. What draws on one by itself says so when
// it is made. Published components have this in place of their own `terminal-image.js`.

import {
  type CellDimensions,
  calculateImageCellSize,
  type ImageDimensions,
  type ImageRenderOptions,
  type TerminalCapabilities,
} from "@earendil-works/pi-tui/dist/terminal-image.js";

import { standIns, unavailable } from "../unavailable.ts";
import { currentScreen } from "./screen.ts";

export * from "@earendil-works/pi-tui/dist/terminal-image.js";

/**
 * Capabilities of the screen for which components are drawn. Pictures are drawn from their last line,
 * as in iTerm's protocol.
 */
export function getCapabilities(): TerminalCapabilities {
  const { showsImages, colors, hyperlinks } = currentScreen();
  return { images: showsImages ? "iterm2" : null, trueColor: colors === "truecolor", hyperlinks };
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

type ResolveLink = (href: string) => string | undefined;
let resolveLink: ResolveLink | undefined;

/** Draws with the targets that a theme of omp's has for links. */
export function followLinks<T>(resolve: ResolveLink | undefined, draw: () => T): T {
  const before = resolveLink;
  resolveLink = resolve;
  try {
    return draw();
  } finally {
    resolveLink = before;
  }
}

/** `text` as a link, on terminals that can follow it. */
export function hyperlink(text: string, url: string): string {
  return `\x1b]8;;${resolveLink?.(url) ?? url}\x1b\\${text}\x1b]8;;\x1b\\`;
}

const IMAGE = "\x1b_haft:image;";

/**
 * Returns the mark that the host reads: `from_mark` of `crates/render/src/image.rs`. The host, which
 * knows the terminal and trusts no tool with its control sequences, makes of it what the terminal
 * understands.
 */
function imageMark(base64: string, columns: number, rows: number): string {
  return `${IMAGE}${columns};${rows};${base64}\x1b\\`;
}

/** Returns true if a line contains a picture, which must not be cut. */
export function isImageLine(line: string): boolean {
  return line.includes(IMAGE);
}

/** A picture for the last line of its block; nothing where the screen shows none. */
export function renderImage(
  base64: string,
  dimensions: ImageDimensions,
  options: ImageRenderOptions = {},
): { sequence: string; columns: number; rows: number; imageId?: number } | null {
  if (!currentScreen().showsImages) return null;
  const { maxWidthCells = 80, maxHeightCells } = options;
  const cell = getCellDimensions();
  const { columns, rows } = calculateImageCellSize(dimensions, maxWidthCells, maxHeightCells, cell);
  return { sequence: imageMark(base64, columns, rows), columns, rows };
}

export function encodeKitty(
  base64: string,
  options: { columns?: number; rows?: number } = {},
): string {
  return imageMark(base64, options.columns ?? 1, options.rows ?? 1);
}

export function encodeITerm2(
  base64: string,
  options: { width?: number | string; height?: number | string } = {},
): string {
  return imageMark(base64, Number(options.width) || 1, Number(options.height) || 1);
}

/** Pictures go with the lines that they are in. */
export const deleteKittyImage = (_imageId: number): string => "";
export const deleteAllKittyImages = (): string => "";

/** Members of omp's terminal that its components read. */
export const TERMINAL = {
  id: "base",
  get imageProtocol(): TerminalCapabilities["images"] {
    return getCapabilities().images;
  },
  get trueColor(): boolean {
    return getCapabilities().trueColor;
  },
  get hyperlinks(): boolean {
    return getCapabilities().hyperlinks;
  },
  isImageLine,
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
