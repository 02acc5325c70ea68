// A picture. Draws a line that says what it is; terminals that can show pictures get theirs from
// the host, which also has the data.
//
// Dimensions are read from the first bytes of PNG, GIF and JPEG, never by decoding the picture.

import type { Component, Style } from "./component.ts";
import { truncateToWidth } from "./wrap.ts";

export interface ImageDimensions {
  widthPx: number;
  heightPx: number;
}

export interface ImageOptions {
  maxWidthCells?: number;
  maxHeightCells?: number;
  filename?: string;
}

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
    this.#color = theme.fallbackColor ?? ((text) => text);
  }

  invalidate(): void {}

  render(width: number): string[] {
    if (width < 1) return [];
    const size = this.dimensions && `${this.dimensions.widthPx}x${this.dimensions.heightPx}`;
    const facts = [this.options.filename, `[${this.mimeType}]`, size].filter(Boolean).join(" ");
    return [this.#color(truncateToWidth(`[Image: ${facts}]`, width))];
  }
}

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
