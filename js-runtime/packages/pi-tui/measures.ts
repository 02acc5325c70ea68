// What the published components use for widths and lines, in place of their own `utils.js`.
//
// Ours counts columns as the host does, closes at the end of a line what is on, and takes a tenth of
// the time. What only editing needs is theirs.

export * from "@earendil-works/pi-tui/dist/utils.js";
export { applyBackgroundToLine } from "./component.ts";
export { stripEscapes as stripTerminalSequences, visibleWidth } from "./width.ts";
export { sliceByColumn, sliceWithWidth, truncateToWidth, wrapTextWithAnsi } from "./wrap.ts";
