/** A piece of the screen. */
export interface Component {
    /** The lines at `width` columns. None is wider. */
    render(width: number): string[];
    /** Drops what was kept from the last `render`. */
    invalidate?(): void;
    /** One key press or paste, as the terminal sent it. */
    handleInput?(data: string): void;
}
/** Adds a style to a text, as the functions of a theme do. */
export type Style = (text: string) => string;
/** Components below each other. */
export declare class Container implements Component {
    children: Component[];
    addChild(component: Component): void;
    removeChild(component: Component): void;
    clear(): void;
    invalidate(): void;
    render(width: number): string[];
}
/** Empty lines. */
export declare class Spacer implements Component {
    #private;
    constructor(lines?: number);
    setLines(lines: number): void;
    invalidate(): void;
    render(_width: number): string[];
}
/** A margin that leaves at least one column for the content, if there is one. */
export declare function fittingPadding(padding: number, width: number): number;
/** `lines` with margins around them, filled up to `width`, on a background if there is one. */
export declare function frame(lines: string[], width: number, padX: number, padY: number, background?: Style): string[];
