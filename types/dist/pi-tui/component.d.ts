import type { Lines } from "./wrap.js";
/** A piece of the screen. */
export interface Component {
    /** The lines at `width` columns. None is wider. */
    render(width: number): readonly string[];
    /** Drops what was kept from the last `render`. */
    invalidate?(): void;
    /** One key press or paste, as the terminal sent it. */
    handleInput?(data: string): void;
    /** Key releases are wanted, too. */
    wantsKeyRelease?: boolean;
    setIgnoreTight?(ignore: boolean): unknown;
    /** It is not drawn any more. */
    dispose?(): void;
}
/** A component that can have the keyboard. */
export interface Focusable {
    focused: boolean;
}
export declare function isFocusable(component: unknown): component is Component & Focusable;
/** Where the cursor of a focused component is; no terminal shows it. */
export declare const CURSOR_MARKER = "\u001B_pi:c\u0007";
/** The mark before what is under the cursor. */
export declare function cursorMark(focused: boolean): string;
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
/** Lines with margins around them, filled up to `width`, on a background if there is one. */
export declare function frame({ texts, widths }: Pick<Lines, "texts" | "widths">, width: number, padX: number, padY: number, background?: Style): string[];
/** Lines of other components, to frame them. */
export declare function measured(texts: string[]): Pick<Lines, "texts" | "widths">;
/** So many spaces. */
export declare function spaces(count: number): string;
/** A line filled up to `width` on a background. */
export declare function applyBackgroundToLine(line: string, width: number, background: Style): string;
