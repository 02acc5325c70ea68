// Tool list beside the tool: a search field, and a list in groups that arrow keys navigate.

import type { Tool } from "./api.ts";
import { announce, el, reconcile } from "./dom.ts";
import { familyName, marks } from "./marks.ts";
import { type Found, search } from "./search.ts";
import type { Store } from "./store.ts";

/** Limit of the tools that are shown at once. The search finds the others. */
const MOST_SHOWN = 500;

export interface Side {
  /** Marks the tool that is shown. */
  current(name: string | null): void;
  focusSearch(): void;
}

export function side(parent: HTMLElement, store: Store): Side {
  const field = el("input", {
    type: "search",
    placeholder: "Search tools and parameters",
    "aria-label": "Search tools",
    "aria-keyshortcuts": "/",
    autocomplete: "off",
    spellcheck: "false",
    on: { input: drawFound, keydown: fromSearch },
  });
  const groups = el("div.tools", { on: { keydown: along } });
  const note = el("p.calm");
  parent.append(el("div.search", field, el("kbd", "/")), note, groups);
  let chosen: string | null = null;

  function drawFound(): void {
    const count = draw();
    if (field.value.trim() !== "") announce(`${count} tools found`);
  }
  function draw(): number {
    const found = search(store.state.tools, field.value);
    const isSearch = field.value.trim() !== "";
    const shown = found.slice(0, MOST_SHOWN);
    reconcile(groups, isSearch ? [list(shown)] : byFamily(shown));
    note.textContent = noteFor(found.length, isSearch);
    note.hidden = note.textContent === "";
    return found.length;
  }
  function byFamily(found: Found[]): HTMLElement[] {
    const families = Map.groupBy(found, ({ tool }) => tool.family);
    return [...families].map(([family, tools]) => {
      const title = familyName(family);
      return el(
        "section",
        { "aria-label": title },
        el("h2", title, el("span.count", String(tools.length))),
        list(tools),
      );
    });
  }
  function list(found: Found[]): HTMLElement {
    return el("ul", ...found.map(item));
  }
  function noteFor(found: number, isSearch: boolean): string {
    if (found > MOST_SHOWN) return `The first ${MOST_SHOWN} of ${found}`;
    if (found > 0) return "";
    if (isSearch) return "No tool matches.";
    return store.state.loaded ? "There are no tools. The problems may say why." : "Loading …";
  }
  function item({ tool, parameter }: Found): HTMLElement {
    const link = el(
      "a",
      { href: address(tool.name), "aria-current": tool.name === chosen && "true" },
      el("span.name", { named: tool.name }),
      el("span.marks", ...marks(tool)),
      el("span.line", summary(tool)),
      parameter !== undefined && el("span.line", `parameter: ${parameter}`),
    );
    return el("li", link);
  }
  function links(): HTMLAnchorElement[] {
    return [...groups.querySelectorAll("a")];
  }
  function fromSearch(event: KeyboardEvent): void {
    const first = links()[0];
    if (event.key === "Escape") {
      field.value = "";
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
    if (to < 0) field.focus();
    else all[Math.min(to, all.length - 1)]?.focus();
  }

  store.draws(draw, "tools", "loaded");
  return {
    current(name) {
      chosen = name;
      for (const link of links()) {
        if (name !== null && link.hash === address(name)) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
      const now = groups.querySelector('[aria-current="true"]');
      now?.scrollIntoView({ block: "nearest" });
    },
    focusSearch() {
      field.focus();
      field.select();
    },
  };
}

/** Returns the address of a tool in this page. */
export function address(name: string): string {
  return `#/tools/${encodeURIComponent(name)}`;
}

/** Returns the beginning of the description, as one paragraph. */
export function summary(tool: Tool): string {
  return (
    tool.description
      .trim()
      .split(/\n\s*\n/, 1)[0]
      ?.replaceAll(/[`*]/g, "")
      .replaceAll(/\s+/g, " ") ?? ""
  );
}
