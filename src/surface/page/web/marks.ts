// Marks of a tool: its tier, its isolation, whether it is trusted and whether models see it.

import type { Tool } from "./api.ts";
import { el } from "./dom.ts";

/** What the tiers allow, for people. */
export const TIERS: { [tier: string]: string } = {
  read: "It only reads.",
  write: "It changes files or other things.",
  exec: "It can run programs.",
};

const ISOLATIONS: { [isolation: string]: string } = {
  process: "own process",
  sandbox: "sandbox",
};

const FAMILIES: { [family: string]: string } = {
  js: "Modules (JavaScript, TypeScript)",
  kodelet: "Executables (Kodelet)",
  ikigai: "Executables (ikigai)",
  shell: "YAML shell tools (CYCOD)",
  plugin: "JSON plugins (aynd)",
  native: "Built into haft",
};

/** Returns the name of a family for people. */
export function familyName(family: string | undefined): string {
  return FAMILIES[family ?? ""] ?? family ?? "Other";
}

/** Creates a badge with an explanation. */
export function badge(text: string | undefined, title = "", kind = ""): HTMLElement | null {
  if (!text) return null;
  return el("span", { class: `badge ${kind}`.trim(), title: title || null }, text);
}

/** Returns the marks for the list of tools. */
export function marks(tool: Tool): (HTMLElement | null)[] {
  const { approval, rights } = tool;
  const isIsolated = rights?.isolation === "sandbox";
  return [
    approval ? badge(approval, TIERS[approval], `tier ${approval}`) : null,
    isIsolated ? badge(ISOLATIONS[rights.isolation], rights.source, "isolated") : null,
    tool.trusted === false
      ? badge("not trusted", "The project that brings it is not trusted.", "alarm")
      : null,
    tool.hidden === true ? badge("hidden", "It is not shown to models.") : null,
  ];
}

/** Returns the badge of the isolation, also if there is none. */
export function isolationBadge(tool: Tool): HTMLElement | null {
  const { rights } = tool;
  if (!rights) return null;
  const kind = rights.isolation === "sandbox" ? "isolated" : "";
  return badge(ISOLATIONS[rights.isolation] ?? rights.isolation, rights.source, kind);
}
