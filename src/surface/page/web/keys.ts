// Keys of the browser as a terminal sends them.

/** Sequences of a terminal for keys that are not characters, by the names of the browser. */
export const NAMED_KEYS: { [key: string]: string } = {
  Enter: "\r",
  Escape: "\x1b",
  Tab: "\t",
  Backspace: "\x7f",
  Delete: "\x1b[3~",
  ArrowUp: "\x1b[A",
  ArrowDown: "\x1b[B",
  ArrowRight: "\x1b[C",
  ArrowLeft: "\x1b[D",
  Home: "\x1b[H",
  End: "\x1b[F",
  PageUp: "\x1b[5~",
  PageDown: "\x1b[6~",
};

/** Returns the characters of a key; null for keys that the browser keeps. */
export function terminalKey(event: KeyboardEvent): string | null {
  const { key, ctrlKey, altKey, metaKey, shiftKey } = event;
  if (metaKey || event.isComposing) return null;
  // Shift+Tab leaves the component, so that the keyboard alone can reach the other controls.
  if (key === "Tab" && shiftKey) return null;
  const isCharacter = [...key].length === 1;
  if (ctrlKey) {
    const isPaste = key === "v" || key === "V";
    const code = isCharacter ? key.toUpperCase().charCodeAt(0) : 0;
    return !isPaste && code >= 64 && code < 96 ? String.fromCharCode(code - 64) : null;
  }
  const text = NAMED_KEYS[key] ?? (isCharacter ? key : null);
  return text !== null && altKey ? `\x1b${text}` : text;
}
