// A picture: a block of lines where the screen shows pictures, else a line that says what it is.
//
// What is drawn here is a mark in the last line of the block; the host, which knows the terminal and
// trusts no tool with its control sequences, makes of it what the terminal understands.

import {
  getImageDimensions,
  type ImageDimensions,
} from "@earendil-works/pi-tui/dist/terminal-image.js";

import type { Component, Style } from "./component.ts";
import { type CellDimensions, currentScreen } from "./screen.ts";
import { truncateToWidth } from "./wrap.ts";

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
  readonly dimensions: ImageDimensions | null;
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
    if (currentScreen().showsImages && dimensions && dimensions.widthPx * dimensions.heightPx > 0) {
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

/** Pictures go with the lines that they are in. */
export function deleteKittyImage(_imageId: number): string {
  return "";
}

export function deleteAllKittyImages(): string {
  return "";
}
