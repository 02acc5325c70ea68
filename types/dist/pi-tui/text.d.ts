import { type Component, Container, type Style } from "./component.js";
/** Wrapped text with margins. Blank text takes no line at all. */
export declare class Text implements Component {
    #private;
    constructor(text?: string, paddingX?: number, paddingY?: number, background?: Style);
    getText(): string;
    setText(text: string): void;
    setCustomBgFn(background?: Style): void;
    /** A style that is asked anew for every drawing. */
    setStyleFn(style?: Style): this;
    setIgnoreTight(_ignore: boolean): this;
    invalidate(): void;
    render(width: number): string[];
}
/** The first line of a text, cut where the screen ends. */
export declare class TruncatedText implements Component {
    #private;
    constructor(text: string, paddingX?: number, paddingY?: number);
    setText(text: string): void;
    invalidate(): void;
    render(width: number): string[];
}
/** The outline of a box. */
export interface BoxBorder {
    chars: {
        topLeft: string;
        topRight: string;
        bottomLeft: string;
        bottomRight: string;
        horizontal: string;
        vertical: string;
    };
    color?: Style;
}
/** Components below each other, with margins, on one background and in an outline. */
export declare class Box extends Container {
    #private;
    constructor(paddingX?: number, paddingY?: number, background?: Style, border?: BoxBorder);
    setPaddingX(paddingX: number): void;
    setPaddingY(paddingY: number): void;
    setBorder(border?: BoxBorder): void;
    setIgnoreTight(_ignore: boolean): this;
    setBgFn(background?: Style): void;
    render(width: number): string[];
}
