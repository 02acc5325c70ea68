// Widths and escape sequences, with `pi-tui`'s measure.

import { visibleWidth } from "@oh-my-pi/pi-tui";

import { builtin } from "../builtin.ts";

/** The terminal columns of `text`. Unlike components, Bun counts a tab as nothing. */
export function stringWidth(
  text: string,
  options: { countAnsiEscapeCodes?: boolean } = {},
): number {
  const visible = text.replaceAll("\t", "");
  return visibleWidth(options.countAnsiEscapeCodes ? visible.replaceAll("\x1b", "") : visible);
}

/** `text` without escape sequences. */
export function stripANSI(text: string): string {
  return builtin("node:util").stripVTControlCharacters(text);
}
