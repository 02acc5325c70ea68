// Theme of the page: light, dark, or that of the system. The browser stores the choice.

import { quietButton } from "./dom.ts";

const KEY = "haft-theme";
const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

export function themeButton(): HTMLButtonElement {
  const toggle = quietButton("", () => {
    const next = THEMES[(THEMES.indexOf(current()) + 1) % THEMES.length] ?? "system";
    localStorage.setItem(KEY, next);
    apply(toggle);
  });
  toggle.classList.add("theme");
  apply(toggle);
  return toggle;
}

function current(): Theme {
  const stored = localStorage.getItem(KEY);
  return THEMES.find((theme) => theme === stored) ?? "system";
}

/** Returns true if the page has a light background. */
export function isLight(): boolean {
  const theme = current();
  return theme === "system"
    ? !matchMedia("(prefers-color-scheme: dark)").matches
    : theme === "light";
}

function apply(toggle: HTMLButtonElement): void {
  const theme = current();
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset["theme"] = theme;
  const word = theme === "system" ? "Auto" : theme === "light" ? "Light" : "Dark";
  toggle.textContent = word;
  toggle.setAttribute("aria-label", `Colours: ${word}. Change`);
}
