// Creates and fills elements. Text is never parsed as markup, and invisible or reordering
// characters in it are shown as escapes.

import { exact, prose } from "./visible.ts";

export type Child = Node | string | number | false | null | undefined;

export interface Attributes {
  class?: string;
  id?: string;
  /** Text that is a name or a path. */
  named?: string;
  on?: { [Event in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Event]) => void };
  /** Any other attribute. `false`, null and undefined omit it; `true` sets it to an empty value. */
  [name: string]: unknown;
}

type Tag = keyof HTMLElementTagNameMap;
/** A tag with classes, as in a style sheet: `ul.tools.wide`. */
type Selector = Tag | `${Tag}.${string}`;
type ElementOf<Name> = Name extends `${infer Before}.${string}`
  ? ElementOf<Before>
  : Name extends Tag
    ? HTMLElementTagNameMap[Name]
    : never;

/** Creates an element. The attributes come before the children and may be left out. */
export function el<Name extends Selector>(
  name: Name,
  attributes?: Attributes | Child,
  ...children: Child[]
): ElementOf<Name> {
  const [tag = "", ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length > 0) element.className = classes.join(" ");
  if (!isAttributes(attributes)) append(element, [attributes, ...children]);
  else {
    for (const [key, value] of Object.entries(attributes)) {
      if (value === undefined || value === null || value === false) continue;
      if (key === "named") element.textContent = exact(String(value));
      else if (key === "on") listen(element, value as NonNullable<Attributes["on"]>);
      else element.setAttribute(key, value === true ? "" : attribute(key, String(value)));
    }
    append(element, children);
  }
  return element as ElementOf<Name>;
}

function isAttributes(value: Attributes | Child): value is Attributes {
  return typeof value === "object" && value !== null && !(value instanceof Node);
}

/** Cleans the attributes that the user can read, like other text. */
function attribute(key: string, value: string): string {
  return key === "title" || key === "placeholder" || key === "aria-label" ? prose(value) : value;
}

/** Replaces the content of `parent`. */
export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

function append(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    parent.append(typeof child === "object" ? child : prose(String(child)));
  }
}

/**
 * Makes `children` the content of `parent`. Children that stay are not moved without need, so that
 * they keep the focus and the scroll position.
 */
export function reconcile(parent: Element, children: Element[]): void {
  const wanted = new Set<Element>(children);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  let next = parent.firstElementChild;
  for (const child of children) {
    if (child === next) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
  }
}

function listen(element: HTMLElement, listeners: NonNullable<Attributes["on"]>): void {
  for (const [name, listener] of Object.entries(listeners)) {
    element.addEventListener(name, listener as EventListener);
  }
}

let ids = 0;

/** Returns an id that is unique in the document. */
export function freshId(prefix: string): string {
  ids += 1;
  return `${prefix}-${ids}`;
}

/** Creates a button that does not submit a form. */
export function button(
  text: string,
  action: () => void,
  attributes: Attributes = {},
): HTMLButtonElement {
  return el("button", { type: "button", on: { click: action }, ...attributes }, text);
}

/** Creates a button that stands out less; `label` is its name for screen readers. */
export function quietButton(text: string, action: () => void, label?: string): HTMLButtonElement {
  return button(text, action, { class: "quiet", "aria-label": label });
}

/** Creates the button of a form, which Ctrl+Enter presses, too. */
export function submitButton(text: string): HTMLButtonElement {
  const keys = { "aria-keyshortcuts": "Control+Enter", title: "Ctrl+Enter" };
  return el("button.main-action", { type: "submit", ...keys }, text);
}

/** Creates a table that scrolls where it has no room. */
export function table(head: HTMLElement[], rows: HTMLElement[][]): HTMLElement {
  const lines = rows.map((cells) => el("tr", ...cells));
  const whole = el("table", el("thead", el("tr", ...head)), el("tbody", ...lines));
  return el("div.table-scroll", { tabindex: "0" }, whole);
}

/** Gives the focus to the first control in an element. */
export function focusFirst(parent: Element | null): void {
  parent?.querySelector<HTMLElement>("input, textarea, select, button")?.focus();
}

/** Creates buttons for several views of one thing, and shows the first one. */
export function viewButtons(
  label: string,
  names: string[],
  show: (index: number) => void,
): HTMLElement {
  const buttons = names.map((name, index) => button(name, () => press(index)));
  const press = (chosen: number) => {
    show(chosen);
    for (const [index, one] of buttons.entries()) {
      one.setAttribute("aria-pressed", String(index === chosen));
    }
  };
  press(0);
  return el("div.tabs", { role: "group", "aria-label": label }, ...buttons);
}

/** Paths of the icons, in a square of 24 units. */
const ICONS = {
  start: "M3 11 12 4l9 7M6 9.5V20h12V9.5M10 20v-5h4v5",
  tools: "M14 6a4 4 0 0 0-5 5l-6 6 3 3 6-6a4 4 0 0 0 5-5l-2.5 2.5-2.500-2.500z",
  calls: "M4 6h16M4 12h16M4 18h10",
  sessions: "M4 5h16v11H9l-5 4z",
  problems: "M12 4 2.500 20h19zM12 10v4M12 17v.5",
  back: "M15 5l-7 7 7 7",
} as const;

export type Icon = keyof typeof ICONS;

/** Creates an icon, which screen readers skip. */
export function icon(name: Icon): SVGSVGElement {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.classList.add("icon");
  const path = document.createElementNS(space, "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** Shows a dialog with a button that closes it. It is removed when it is closed. */
export function openDialog(
  title: string,
  ...content: Child[]
): { dialog: HTMLDialogElement; bar: HTMLElement } {
  const heading = freshId("dialog");
  const close = button("Close", () => dialog.close());
  const bar = el("div.bar", close);
  const labelled = { "aria-labelledby": heading };
  const dialog = el(
    "dialog.wide-dialog",
    labelled,
    el("h2", { id: heading }, title),
    ...content,
    bar,
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return { dialog, bar };
}

/** Announces a text to users of screen readers. */
export function announce(text: string): void {
  const region = document.getElementById("announcer");
  if (region) region.textContent = prose(text);
}
