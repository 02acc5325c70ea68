// Display of a hint: commands and names in it as code, with a button that copies the command.

import { el } from "./dom.ts";
import { copyButton } from "./result.ts";

export function hintElement(hint: string): HTMLElement {
  const parts = hint.split(/`([^`\n]+)`/);
  const words = parts.map((part, index) => (index % 2 === 1 ? el("code", part) : part));
  const command = parts.find((part, index) => index % 2 === 1 && /^haft \S/.test(part));
  return el(
    "div.bar",
    el("p.hint", ...words),
    command !== undefined && copyButton(command, "Copy the command"),
  );
}
