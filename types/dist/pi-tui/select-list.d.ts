import type { Component, Style } from "./component.js";
export interface SelectItem {
    value: string;
    label?: string;
    description?: string;
}
export interface SelectListTheme {
    selectedPrefix: Style;
    selectedText: Style;
    description: Style;
    scrollInfo: Style;
    noMatch: Style;
}
/** Choices below each other. */
export declare class SelectList implements Component {
    #private;
    onSelect?: (item: SelectItem) => void;
    onCancel?: () => void;
    onSelectionChange?: (item: SelectItem) => void;
    constructor(items: SelectItem[], maxVisible: number, theme: SelectListTheme);
    setFilter(filter: string): void;
    setSelectedIndex(index: number): void;
    getSelectedItem(): SelectItem | null;
    invalidate(): void;
    render(width: number): string[];
    handleInput(data: string): void;
}
