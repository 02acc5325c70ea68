import { type Style } from "./component.js";
import { type Definitions, type Ink } from "./markdown-inline.js";
import { type Lines } from "./wrap.js";
type Side = "left" | "center" | "right" | undefined;
/** A table in the source. */
export interface Table {
    head: string[];
    rows: string[][];
    sides: Side[];
    source: string[];
    /** The line behind it. */
    end: number;
}
/** The table that begins at `at`: a row, then a row of dashes with as many cells. */
export declare function tableAt(written: string[], at: number): Table | undefined;
/** Draws a table, no line wider than `width`. */
export declare function drawTable(table: Table, width: number, ink: Ink, base: Style, definitions: Definitions, lines: Lines): void;
export {};
