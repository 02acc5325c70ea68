import type { Component, Style } from "./component.js";
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
export declare class Image implements Component {
    #private;
    readonly data: string;
    readonly mimeType: string;
    readonly options: ImageOptions;
    readonly dimensions: ImageDimensions | undefined;
    constructor(data: string, mimeType: string, theme?: {
        fallbackColor?: Style;
    }, options?: ImageOptions, dimensions?: ImageDimensions);
    invalidate(): void;
    render(width: number): string[];
}
/** The size of a picture in base64, if its first bytes tell it. */
export declare function getImageDimensions(base64: string, mimeType: string): ImageDimensions | undefined;
