// Theme of the page: light, dark, or that of the system. The browser stores the choice.

import { button } from "./dom.ts";

const KEY = "haft-theme";
const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

export function themeButton(): HTMLButtonElement {
  const toggle = button("", () => {
    const next = THEMES[(THEMES.indexOf(current()) + 1) % THEMES.length] ?? "system";
    localStorage.setItem(KEY, next);
    apply(toggle);
  });
  toggle.className = "quiet theme";
  apply(toggle);
  return toggle;
}

function current(): Theme {
  const stored = localStorage.getItem(KEY);
  return THEMES.find((theme) => theme === stored) ?? "system";
}

function apply(toggle: HTMLButtonElement): void {
  const theme = current();
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset["theme"] = theme;
  toggle.textContent = theme === "system" ? "Auto" : theme === "light" ? "Light" : "Dark";
  toggle.setAttribute("aria-label", `Colours: ${theme}. Change`);
}
