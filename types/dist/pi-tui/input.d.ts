import type { Component } from "./component.js";
/** A line editor. */
export declare class Input implements Component {
    #private;
    onSubmit?: (value: string) => void;
    onEscape?: () => void;
    focused: boolean;
    getValue(): string;
    setValue(value: string): void;
    invalidate(): void;
    handleInput(data: string): void;
    render(width: number): string[];
}
