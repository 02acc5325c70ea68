// A picture: a block of lines where the screen shows pictures, else a line that says what it is.

import {
  type ImageOptions,
  Image as PublishedImage,
} from "@earendil-works/pi-tui/dist/components/image.js";

import type { Component, Style } from "./component.ts";
import type { ImageDimensions } from "./terminal.ts";

export type { ImageOptions };

/** A picture's place on the screen. */
export class Image extends PublishedImage implements Component {
  constructor(
    data: string,
    mimeType: string,
    theme: { fallbackColor?: Style } = {},
    options: ImageOptions = {},
    dimensions?: ImageDimensions,
  ) {
    const fallbackColor = theme?.fallbackColor ?? ((text) => text);
    super(data, mimeType, { fallbackColor }, options, dimensions);
  }

  override render(width: number): string[] {
    return width < 1 ? [] : super.render(width);
  }
}
