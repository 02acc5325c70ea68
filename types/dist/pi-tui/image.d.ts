import type { Component, Style } from "./component.js";
import { type CellDimensions } from "./screen.js";
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
    getImageId(): number | undefined;
    invalidate(): void;
    render(width: number): string[];
}
/** What is said instead of a picture. */
export declare function imageFallback(mimeType: string, dimensions?: ImageDimensions | null, filename?: string): string;
/** The columns and rows of a picture: its own size, or as large as fits. */
export declare function calculateImageCellSize({ widthPx, heightPx }: ImageDimensions, maxColumns: number, maxRows?: number, cell?: CellDimensions): {
    columns: number;
    rows: number;
};
/** The rows of a picture that is so many columns wide. */
export declare function calculateImageRows({ widthPx, heightPx }: ImageDimensions, columns: number, cell?: CellDimensions): number;
/** A picture as the lines of a block's last one; nothing where the screen shows none. */
export declare function renderImage(base64: string, dimensions: ImageDimensions, options?: {
    maxWidthCells?: number;
    maxHeightCells?: number;
    imageId?: number;
}): {
    sequence: string;
    rows: number;
    imageId?: number;
} | null;
export declare function encodeKitty(base64: string, options?: {
    columns?: number;
    rows?: number;
}): string;
export declare function encodeITerm2(base64: string, options?: {
    width?: number | string;
    height?: number | string;
}): string;
export declare function allocateImageId(): number;
/** Pictures go with the lines that they are in. */
export declare function deleteKittyImage(_imageId: number): string;
export declare function deleteAllKittyImages(): string;
export declare const getPngDimensions: (base64: string) => ImageDimensions | null;
export declare const getJpegDimensions: (base64: string) => ImageDimensions | null;
export declare const getGifDimensions: (base64: string) => ImageDimensions | null;
export declare const getWebpDimensions: (base64: string) => ImageDimensions | null;
/** The size of a picture in base64, if its first bytes tell it. */
export declare function getImageDimensions(base64: string, mimeType: string): ImageDimensions | undefined;
