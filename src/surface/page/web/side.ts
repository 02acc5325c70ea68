// Tool list beside the tool: a search field, and a list that arrow keys navigate.

import type { Tool } from "./api.ts";
import { announce, el, fill } from "./dom.ts";
import type { Store } from "./store.ts";

/** Limit of the tools that are shown at once. The search finds the others. */
const MOST_SHOWN = 500;

export interface Side {
  /** Marks the tool that is shown. */
  current(name: string | null): void;
  focusSearch(): void;
}

export function side(parent: HTMLElement, store: Store): Side {
  const search = el("input", {
    type: "search",
    placeholder: "Search tools",
    "aria-label": "Search tools",
    "aria-keyshortcuts": "/",
    autocomplete: "off",
    spellcheck: "false",
    on: { input: draw, keydown: fromSearch },
  });
  const list = el("ul", { class: "tools", on: { keydown: along } });
  const note = el("p", { class: "calm" });
  parent.append(el("div", { class: "search" }, search, el("kbd", { text: "/" })), note, list);
  let chosen: string | null = null;

  function draw(): void {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = ranked(store.state.tools, words);
    fill(list, ...found.slice(0, MOST_SHOWN).map(item));
    note.textContent = noteFor(found.length, words.length > 0);
    note.hidden = note.textContent === "";
    if (words.length > 0) announce(`${found.length} tools found`);
  }
  function noteFor(found: number, isSearch: boolean): string {
    if (found > MOST_SHOWN) return `The first ${MOST_SHOWN} of ${found}`;
    if (found > 0) return "";
    if (isSearch) return "No tool is like that.";
    return store.state.loaded ? "There are no tools. The problems may say why." : "Loading …";
  }
  function item(tool: Tool): HTMLElement {
    const link = el(
      "a",
      { href: address(tool.name), "aria-current": tool.name === chosen && "true" },
      el("span", { class: "name", named: tool.name }),
      el("span", { class: "line", text: firstLine(tool.description) }),
    );
    if (tool.trusted === false) link.append(el("span", { class: "badge", text: "not trusted" }));
    return el("li", {}, link);
  }
  function links(): HTMLAnchorElement[] {
    return [...list.querySelectorAll("a")];
  }
  function fromSearch(event: KeyboardEvent): void {
    const first = links()[0];
    if (event.key === "Escape") {
      search.value = "";
      draw();
    } else if (event.key === "ArrowDown" && first) {
      event.preventDefault();
      first.focus();
    } else if (event.key === "Enter" && first) {
      event.preventDefault();
      location.hash = first.hash;
    }
  }
  function along(event: KeyboardEvent): void {
    const all = links();
    const at = all.indexOf(document.activeElement as HTMLAnchorElement);
    const steps: { [key: string]: number } = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: all.length - 1,
    };
    const to = steps[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (to < 0) search.focus();
    else all[Math.min(to, all.length - 1)]?.focus();
  }

  store.on("tools", draw);
  store.on("loaded", draw);
  draw();
  return {
    current(name) {
      chosen = name;
      for (const link of links()) {
        if (name !== null && link.hash === address(name)) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
      const now = list.querySelector('[aria-current="true"]');
      now?.scrollIntoView({ block: "nearest" });
    },
    focusSearch() {
      search.focus();
      search.select();
    },
  };
}

/** Returns the address of a tool in this page. */
export function address(name: string): string {
  return `#/tools/${encodeURIComponent(name)}`;
}

/** Returns the tools that contain every word, sorted by the match of their names. */
function ranked(tools: Tool[], words: string[]): Tool[] {
  if (words.length === 0) return tools;
  const scored = tools.map((tool) => ({ tool, score: score(tool, words) }));
  const found = scored.filter(({ score }) => score > 0);
  return found.sort((one, other) => other.score - one.score).map(({ tool }) => tool);
}

function score(tool: Tool, words: string[]): number {
  const name = `${tool.name} ${tool.label ?? ""}`.toLowerCase();
  const rest = `${tool.description} ${tool.family ?? ""} ${tool.path ?? ""}`.toLowerCase();
  let sum = 0;
  for (const word of words) {
    if (name.startsWith(word)) sum += 4;
    else if (name.includes(word)) sum += 3;
    else if (rest.includes(word)) sum += 1;
    else return 0;
  }
  return sum;
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0] ?? "";
}
