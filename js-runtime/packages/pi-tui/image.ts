// A picture: a block of lines where the screen shows pictures, else a line that says what it is.
//
// What is drawn here is a mark in the last line of the block; the host, which knows the terminal and
// trusts no tool with its control sequences, makes of it what the terminal understands.
// Dimensions are read from the first bytes of PNG, GIF, JPEG and WebP, never by decoding the picture.

import type { Component, Style } from "./component.ts";
import { type CellDimensions, currentScreen } from "./screen.ts";
import { truncateToWidth } from "./wrap.ts";

export interface ImageDimensions {
  widthPx: number;
  heightPx: number;
}

export interface ImageOptions {
  maxWidthCells?: number;
  maxHeightCells?: number;
  filename?: string;
  imageId?: number;
}

const MOST_COLUMNS = 60;
const MOST_ROWS = 24;

/** A picture's place on the screen. */
export class Image implements Component {
  readonly data: string;
  readonly mimeType: string;
  readonly options: ImageOptions;
  readonly dimensions: ImageDimensions | undefined;
  readonly #color: Style;

  constructor(
    data: string,
    mimeType: string,
    theme: { fallbackColor?: Style } = {},
    options: ImageOptions = {},
    dimensions?: ImageDimensions,
  ) {
    this.data = data;
    this.mimeType = mimeType;
    this.options = options;
    this.dimensions = dimensions ?? getImageDimensions(data, mimeType);
    this.#color = theme?.fallbackColor ?? ((text) => text);
  }

  getImageId(): number | undefined {
    return this.options.imageId;
  }

  invalidate(): void {}

  render(width: number): string[] {
    if (width < 1) return [];
    const { dimensions, options } = this;
    if (currentScreen().showsImages && dimensions) {
      const room = Math.min(width, options.maxWidthCells ?? MOST_COLUMNS);
      const size = calculateImageCellSize(dimensions, room, options.maxHeightCells ?? MOST_ROWS);
      const empty = Array.from({ length: size.rows - 1 }, () => "");
      return [...empty, imageMark(this.data, size.columns, size.rows)];
    }
    const fallback = imageFallback(this.mimeType, dimensions, options.filename);
    return [this.#color(truncateToWidth(fallback, width))];
  }
}

/** Returns the mark that the host reads: `from_mark` of `crates/render/src/image.rs`. */
function imageMark(base64: string, columns: number, rows: number): string {
  return `\x1b_haft:image;${columns};${rows};${base64}\x1b\\`;
}

/** Returns the text that is shown instead of a picture. */
export function imageFallback(
  mimeType: string,
  dimensions?: ImageDimensions | null,
  filename?: string,
): string {
  const size = dimensions && `${dimensions.widthPx}x${dimensions.heightPx}`;
  return `[Image: ${[filename, `[${mimeType}]`, size].filter(Boolean).join(" ")}]`;
}

/** The columns and rows of a picture: its own size, or as large as fits. */
export function calculateImageCellSize(
  { widthPx, heightPx }: ImageDimensions,
  maxColumns: number,
  maxRows = MOST_ROWS,
  cell?: CellDimensions,
): { columns: number; rows: number } {
  const [cellWidth, cellHeight] = cell ? [cell.widthPx, cell.heightPx] : currentScreen().cell;
  const scale = Math.min(
    1,
    (Math.max(1, maxColumns) * cellWidth) / widthPx,
    (Math.max(1, maxRows) * cellHeight) / heightPx,
  );
  const cells = (pixels: number, of: number, most: number) =>
    Math.max(1, Math.min(most, Math.ceil((pixels * scale) / of - 1e-9)));
  return {
    columns: cells(widthPx, cellWidth, Math.max(1, Math.floor(maxColumns))),
    rows: cells(heightPx, cellHeight, Math.max(1, Math.floor(maxRows))),
  };
}

/** The rows of a picture that is so many columns wide. */
export function calculateImageRows(
  { widthPx, heightPx }: ImageDimensions,
  columns: number,
  cell?: CellDimensions,
): number {
  const [cellWidth, cellHeight] = cell ? [cell.widthPx, cell.heightPx] : currentScreen().cell;
  return Math.max(1, Math.ceil((heightPx * columns * cellWidth) / (widthPx * cellHeight)));
}

/** A picture as the lines of a block's last one; nothing where the screen shows none. */
export function renderImage(
  base64: string,
  dimensions: ImageDimensions,
  options: { maxWidthCells?: number; maxHeightCells?: number; imageId?: number } = {},
): { sequence: string; rows: number; imageId?: number } | null {
  if (!currentScreen().showsImages) return null;
  const { maxWidthCells = MOST_COLUMNS, maxHeightCells = MOST_ROWS } = options;
  const { columns, rows } = calculateImageCellSize(dimensions, maxWidthCells, maxHeightCells);
  return { sequence: imageMark(base64, columns, rows), rows };
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

let images = 0;

export function allocateImageId(): number {
  images += 1;
  return images;
}

/** Pictures go with the lines that they are in. */
export function deleteKittyImage(_imageId: number): string {
  return "";
}

export function deleteAllKittyImages(): string {
  return "";
}

const sizeAs = (mimeType: string) => (base64: string) =>
  getImageDimensions(base64, mimeType) ?? null;

export const getPngDimensions = sizeAs("image/png");
export const getJpegDimensions = sizeAs("image/jpeg");
export const getGifDimensions = sizeAs("image/gif");
export const getWebpDimensions = sizeAs("image/webp");

/** The size of a picture in base64, if its first bytes tell it. */
export function getImageDimensions(base64: string, mimeType: string): ImageDimensions | undefined {
  const bytes = decodeStart(base64);
  switch (mimeType) {
    case "image/png":
      return ascii(bytes, 1, 3) === "PNG" ? size(big(bytes, 18), big(bytes, 22)) : undefined;
    case "image/gif":
      return ascii(bytes, 0, 3) === "GIF" ? size(little(bytes, 6), little(bytes, 8)) : undefined;
    case "image/jpeg":
      return jpegSize(bytes);
    case "image/webp":
      return webpSize(bytes);
    default:
      return undefined;
  }
}

// The sizes are far in front; only a JPEG with a large thumbnail needs more than this.
const READ = 256 * 1024;

function decodeStart(base64: string): Uint8Array {
  try {
    return Uint8Array.from(atob(base64.slice(0, READ)), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function jpegSize(bytes: Uint8Array): ImageDimensions | undefined {
  let at = 2;
  while (big(bytes, 0) === 0xffd8 && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return size(big(bytes, at + 7), big(bytes, at + 5));
    at += 2 + big(bytes, at + 2);
  }
  return undefined;
}

function webpSize(bytes: Uint8Array): ImageDimensions | undefined {
  if (ascii(bytes, 0, 4) !== "RIFF" || ascii(bytes, 8, 4) !== "WEBP") return undefined;
  const three = (at: number) => little(bytes, at) | ((bytes[at + 2] ?? 0) << 16);
  switch (ascii(bytes, 12, 4)) {
    case "VP8X":
      return size(three(24) + 1, three(27) + 1);
    case "VP8L": {
      const bits = little(bytes, 21) | (little(bytes, 23) << 16);
      return size((bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1);
    }
    case "VP8 ":
      return size(little(bytes, 26) & 0x3fff, little(bytes, 28) & 0x3fff);
    default:
      return undefined;
  }
}

function size(widthPx: number, heightPx: number): ImageDimensions | undefined {
  return widthPx > 0 && heightPx > 0 ? { widthPx, heightPx } : undefined;
}

function big(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}

function little(bytes: Uint8Array, at: number): number {
  return ((bytes[at + 1] ?? 0) << 8) | (bytes[at] ?? 0);
}

function ascii(bytes: Uint8Array, from: number, count: number): string {
  return String.fromCharCode(...bytes.slice(from, from + count));
}
