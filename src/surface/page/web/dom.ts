// Creates and fills elements. Text is never parsed as markup, and invisible or reordering
// characters in it are shown as escapes.

import { exact, prose } from "./visible.ts";

export type Child = Node | string | number | false | null | undefined;

export interface Attributes {
  class?: string;
  id?: string;
  text?: string;
  /** Text that is a name or a path. */
  named?: string;
  on?: { [Event in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[Event]) => void };
  /** Any other attribute. `false`, null and undefined omit it; `true` sets it to an empty value. */
  [name: string]: unknown;
}

/** Creates an element. */
export function el<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "text") element.textContent = prose(String(value));
    else if (key === "named") element.textContent = exact(String(value));
    else if (key === "on") listen(element, value as NonNullable<Attributes["on"]>);
    else element.setAttribute(key, value === true ? "" : attribute(key, String(value)));
  }
  append(element, children);
  return element;
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
  return el("button", { type: "button", text, on: { click: action }, ...attributes });
}

/** Announces a text to users of screen readers. */
export function announce(text: string): void {
  const region = document.getElementById("announcer");
  if (region) region.textContent = prose(text);
}
