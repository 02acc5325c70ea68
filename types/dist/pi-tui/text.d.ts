import { type Component, Container, type Style } from "./component.js";
/** Wrapped text with margins. Blank text takes no line at all. */
export declare class Text implements Component {
    #private;
    constructor(text?: string, paddingX?: number, paddingY?: number, background?: Style);
    getText(): string;
    setText(text: string): void;
    setCustomBgFn(background?: Style): void;
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
/** Components below each other, with margins and on one background. */
export declare class Box extends Container {
    #private;
    constructor(paddingX?: number, paddingY?: number, background?: Style);
    setBgFn(background?: Style): void;
    render(width: number): string[];
}
